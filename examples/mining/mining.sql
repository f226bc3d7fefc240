-- A classifier that learns while it is asked: will this visitor of a shop buy something?

CREATE STREAM visits (at timestamp, id int, device string, origin string, pages string, bought string)
  ORDER BY at SOURCE 'visits.csv';

-- The outcome of a visit is known when it ends, which is some time after it was asked for.
CREATE STREAM outcomes (at timestamp, id int, bought string) ORDER BY at SOURCE 'outcomes.csv';


-- Each row of `visits` either teaches, when its outcome is known, or asks, when it is NULL. The
-- classifier keeps how often each value came with each outcome; see docs/language/library.md.
CREATE STREAM guesses AS (
  SELECT id, naive_bayes(bought, device, origin, pages) AS guess FROM visits);

-- Was the guess right? A moving share over the last 50 guesses, maintained as they come and go.
WINDOW AGGREGATE share_right(hit boolean) : double {
  TABLE counts(hits int, n int) AS VALUES (0, 0);
  INITIALIZE : ITERATE : {
    UPDATE counts SET hits = hits + CASE WHEN hit THEN 1 ELSE 0 END, n = n + 1;
    INSERT INTO RETURN SELECT hits / n FROM counts;
  }
  EXPIRE : { UPDATE counts SET hits = hits - CASE WHEN hit THEN 1 ELSE 0 END, n = n - 1; }
}

CREATE STREAM checked AS (
  SELECT Istream(o.id, g.guess, o.bought, g.guess = o.bought AS hit)
  FROM outcomes [Now] AS o, guesses AS g WHERE g.id = o.id);

CREATE VIEW accuracy AS
  SELECT id, share_right(hit) OVER (ROWS 49 PRECEDING) AS share FROM checked;

-- Customers fall into kinds by how much they look at and how long: three centers that move.
CREATE STREAM looks (at timestamp, seconds double, products double) ORDER BY at SOURCE 'looks.csv';

CREATE VIEW kinds AS SELECT nearest_center(seconds, products, 3) FROM looks;
