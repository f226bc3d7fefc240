-- A live auction feed: people sign up, put things up for auction, and bid.
CREATE STREAM bids (auction bigint, bidder bigint, price double, ts timestamp)
  ORDER BY ts SOURCE 'generate:auction?rate=2000&seed=7';
CREATE STREAM auctions (id bigint, item_name string, seller bigint, category bigint,
                        start_price double, ts timestamp)
  ORDER BY ts SOURCE 'generate:auction?rate=2000&seed=7';

-- The busiest auctions of the last ten seconds, kept up to date.
CREATE VIEW busiest AS
  SELECT COMPLETE auction, count(*) AS bids, max(price) AS highest
  FROM bids [Range 10 Seconds]
  GROUP BY auction HAVING count(*) > 60;

-- The last thousand bids, whenever they came.
CREATE VIEW last_thousand AS
  SELECT COMPLETE count(*) AS bids, avg(price) AS average, median(price) AS middle
  FROM bids [Rows 1000];

-- Every bid over 500, as it comes.
CREATE VIEW large_bids AS
  SELECT Istream(auction, bidder, price) FROM bids WHERE price > 500;

-- The latest auction of every category.
CREATE VIEW newest AS
  SELECT COMPLETE category, item_name, start_price
  FROM auctions [Partition By category Rows 1];
