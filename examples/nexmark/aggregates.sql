-- Queries of the NEXMark benchmark once more, written with aggregates of one's own and OVER: each
-- row is looked at when it comes, and nothing is joined.

CREATE STREAM bids (auction bigint, bidder bigint, price double, ts timestamp)
  ORDER BY ts SOURCE 'generate:auction?events=4000&rate=50&seed=11&life=10';
CREATE STREAM closings (id bigint, seller bigint, category bigint, expires timestamp)
  ORDER BY expires SLACK 10 Seconds
  SOURCE 'generate:auction?events=4000&rate=50&seed=11&life=10&kind=auctions';


-- Bids and closings of auctions as one stream, in the order of time; a closing comes before the
-- bids of its instant, which are too late.
CREATE STREAM house (auction bigint, seller bigint, category bigint, bidder bigint, price double,
                     ts timestamp) ORDER BY ts;
INSERT INTO house SELECT id, seller, category, CAST(NULL AS bigint), CAST(NULL AS double), expires
                  FROM closings;
INSERT INTO house SELECT auction, CAST(NULL AS bigint), CAST(NULL AS bigint), bidder, price, ts
                  FROM bids;

-- Winning bids: the first of the highest bids of an auction, when it closes.
AGGREGATE won(is_closing boolean, bidder bigint, price double) : (winner bigint, price double) {
  TABLE best(who bigint, paid double, closed boolean);
  INITIALIZE : { INSERT INTO best VALUES (bidder, price, is_closing); }
  ITERATE : {
    UPDATE best SET who = bidder, paid = price
      WHERE NOT closed AND NOT is_closing AND price > paid;
    INSERT INTO RETURN SELECT who, paid FROM best WHERE is_closing AND NOT closed;
    UPDATE best SET closed = TRUE WHERE is_closing;
  }
}

CREATE STREAM sales AS (
  SELECT auction, seller, category,
         won(seller IS NOT NULL, bidder, price)
           OVER (PARTITION BY auction ROWS UNBOUNDED PRECEDING) AS (winner, price)
  FROM house);

-- The average price of a category so far, at every sale.
CREATE VIEW category_prices AS
  SELECT category, cumulative_avg(price) AS mean FROM sales GROUP BY category;

-- The average price of the last ten sales of a seller, at every sale.
CREATE VIEW seller_prices AS
  SELECT seller, avg(price) OVER (PARTITION BY seller ROWS 9 PRECEDING) AS mean FROM sales;

-- Hot items: an auction that has most of the bids of the last ten seconds, at every bid.
WINDOW AGGREGATE hottest(auction bigint) : (auction bigint, bids bigint) {
  TABLE counts(item bigint, n int) INDEX (item);
  INITIALIZE : ITERATE : {
    UPDATE counts SET n = n + 1 WHERE item = auction;
    INSERT INTO counts VALUES (auction, 1) WHERE sqlcode > 0;
    INSERT INTO RETURN SELECT item, n FROM counts ORDER BY n DESC, item LIMIT 1;
  }
  EXPIRE : {
    UPDATE counts SET n = n - 1 WHERE item = auction;
    DELETE FROM counts WHERE n = 0;
  }
}

CREATE VIEW hot_items AS
  SELECT hottest(auction) OVER (RANGE 10 SECONDS PRECEDING) FROM bids;

-- The highest bid of each full ten seconds, by the last bid of the slot.
CREATE VIEW highest_bids AS
  SELECT max(price) OVER (RANGE 9.999999 SECONDS PRECEDING SLIDE 10 SECONDS) AS price FROM bids;
