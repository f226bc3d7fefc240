-- What visitors of a shop click: kind is 'advert', 'description', 'purchase' or 'other'.
CREATE STREAM clicks (at timestamp, visit int, page string, kind string)
  ORDER BY at SOURCE 'clicks.csv';

-- An advert, the description right after it, and the purchase right after that.
CREATE VIEW dreams AS
  SELECT visit, Y.page AS described, Z.at AS bought
  FROM clicks PARTITION BY visit AS (X, Y, Z)
  WHERE X.kind = 'advert' AND Y.kind = 'description' AND Z.kind = 'purchase';

CREATE VIEW dreams_again AS
  SELECT * FROM clicks MATCH_RECOGNIZE (
    PARTITION BY visit
    MEASURES D.page AS described, P.at AS bought
    PATTERN (A D P)
    DEFINE A AS kind = 'advert', D AS kind = 'description', P AS kind = 'purchase');

-- How many pages were looked at before each purchase, fewer than eight. Where there were more, the
-- search goes on one page after the start of the attempt that failed: so the last seven count.
CREATE VIEW pages AS
  SELECT visit, count(*A) AS pages, B.at AS bought
  FROM clicks PARTITION BY visit AS (*A, B)
  WHERE A.kind <> 'purchase' AND B.kind = 'purchase' AND count(*A) < 8;

CREATE VIEW pages_again AS
  SELECT * FROM clicks MATCH_RECOGNIZE (
    PARTITION BY visit
    MEASURES count(A.*) AS pages, B.at AS bought
    PATTERN (A{1,7} B)
    DEFINE A AS kind <> 'purchase', B AS kind = 'purchase');

-- How fast cars are at each station of a motorway, once a minute; and where the stations are.
CREATE STREAM speeds (at timestamp, station int, speed double) ORDER BY at SOURCE 'speeds.csv';
CREATE TABLE stations (station int, place string) SOURCE 'stations.csv';

-- A jam: from more than 80 down to less than a third of it, minute by minute, in six minutes at most.
CREATE VIEW jams AS
  SELECT s.place, X.speed AS before, LAST(Y).speed AS slowest, LAST(Y).at AS since
  FROM stations s, speeds PARTITION BY station AS (X, *Y)
  WHERE X.speed > 80 AND Y.speed < Y.previous.speed AND ccount(Y) <= 6
    AND LAST(*Y).speed < 0.3 * X.speed AND X.station = s.station;

-- How much faster cars are at the station before: a stream that is derived from the speeds.
CREATE VIEW gaps AS
  SELECT Istream(b.station, a.speed - b.speed AS gap, b.at AS at)
  FROM speeds [Now] a, speeds [Now] b
  WHERE a.station + 1 = b.station;

-- An accident: a small gap grows to more than twice as much within six minutes, and stays at least a
-- tenth higher than it was, for an hour at most.
CREATE VIEW accidents AS
  SELECT station, X.gap AS usual, FIRST(Y).at AS began, LAST(Z).at AS cleared, max(*Y.gap) AS largest
  FROM gaps PARTITION BY station AS (X, *Y, *Z)
  WHERE X.gap BETWEEN 2 AND 15 AND Y.gap > Y.previous.gap AND ccount(Y) <= 6
    AND LAST(*Y).gap > 2 * X.gap AND Z.gap > 1.1 * X.gap AND ccount(Z) <= 60;

-- What observers of the earth report.
CREATE STREAM reports (at timestamp, kind string, name string, magnitude double)
  ORDER BY at SOURCE 'reports.csv';

-- Eruptions before which the last earthquake was a strong one.
CREATE VIEW eruptions AS
  SELECT V.name AS volcano, LAST(E).name AS quake, LAST(E).magnitude AS magnitude
  FROM reports AS (*E, V)
  WHERE E.kind = 'earthquake' AND V.kind = 'volcano' AND LAST(*E).magnitude >= 7;

-- Prices of shares, one a minute.
CREATE STREAM prices (at timestamp, share string, price double) ORDER BY at SOURCE 'prices.csv';

-- A double bottom: a fall, a rise, a fall and a rise, with five prices each or more.
CREATE VIEW bottoms AS
  SELECT share, X.price AS top, LAST(A).price AS low, LAST(B).price AS between_them,
    LAST(C).price AS again, LAST(D).price AS back
  FROM prices PARTITION BY share AS (X, *A, *B, *C, *D)
  WHERE A.price < A.previous.price AND B.price > B.previous.price
    AND C.price < C.previous.price AND D.price > D.previous.price
    AND count(*A) >= 5 AND count(*B) >= 5 AND count(*C) >= 5 AND count(*D) >= 5;

CREATE VIEW bottoms_again AS
  SELECT * FROM prices MATCH_RECOGNIZE (
    PARTITION BY share
    MEASURES X.price AS top, LAST(A.price) AS low, LAST(B.price) AS between_them,
      LAST(C.price) AS again, LAST(D.price) AS back
    PATTERN (X A{5,} B{5,} C{5,} D{5,})
    DEFINE A AS price < PREV(price), B AS price > PREV(price),
      C AS price < PREV(price), D AS price > PREV(price));

-- A relaxed one: moves of less than 2 % are ignored, before and after each fall and rise.
CREATE VIEW relaxed AS
  SELECT share, X.price AS top, LAST(Low).price AS low, LAST(High).price AS high,
    LAST(Again).price AS again, S.price AS back
  FROM prices PARTITION BY share AS (X, *Fall, *Low, *Rise, *High, *Down, *Again, *Up, S)
  WHERE Fall.price < 0.98 * Fall.previous.price AND Down.price < 0.98 * Down.previous.price
    AND Rise.price > 1.02 * Rise.previous.price AND Up.price > 1.02 * Up.previous.price
    AND Low.price BETWEEN 0.98 * Low.previous.price AND 1.02 * Low.previous.price
    AND High.price BETWEEN 0.98 * High.previous.price AND 1.02 * High.previous.price
    AND Again.price BETWEEN 0.98 * Again.previous.price AND 1.02 * Again.previous.price
    AND S.price <= 1.02 * S.previous.price;

-- Who tries to log in, and whether it worked.
CREATE STREAM logins (at timestamp, account string, worked boolean) ORDER BY at SOURCE 'logins.csv';

-- At least three failures in a row, then a success, all within ten minutes.
CREATE VIEW guessed AS
  SELECT account, count(*F) AS failures, S.at AS entered
  FROM logins PARTITION BY account AS (*F, S) WITHIN 10 MINUTES
  WHERE NOT F.worked AND S.worked AND count(*F) >= 3;

CREATE VIEW guessed_again AS
  SELECT * FROM logins MATCH_RECOGNIZE (
    PARTITION BY account
    MEASURES count(F.*) AS failures, S.at AS entered
    PATTERN (F{3,} S) WITHIN 10 MINUTES
    DEFINE F AS NOT worked, S AS worked);

-- What machines report: 'fine', 'hot' or 'reset'.
CREATE STREAM states (at timestamp, machine string, state string) ORDER BY at SOURCE 'states.csv';

-- Machines that overheat twice within ten minutes without a reset.
CREATE VIEW overheated AS
  SELECT * FROM states MATCH_RECOGNIZE (
    PARTITION BY machine
    MEASURES First.at AS began, Second.at AS again
    PATTERN (First Cooler* Second) WITHIN 10 MINUTES
    DEFINE First AS state = 'hot', Cooler AS state = 'fine', Second AS state = 'hot');

-- The same of the reports that count: hot ones right after each other.
CREATE VIEW overheated_again AS
  SELECT machine, First.at AS began, Second.at AS again
  FROM (SELECT * FROM states WHERE state <> 'fine') AS told
    PARTITION BY machine AS (First, Second) WITHIN 10 MINUTES
  WHERE First.state = 'hot' AND Second.state = 'hot';
