-- An auction feed: 20,000 events, 1,000 a second, the same in every run.
CREATE STREAM bids (auction bigint, bidder bigint, price double, ts timestamp)
  ORDER BY ts SOURCE 'generate:auction?events=20000&rate=1000&seed=42';
CREATE STREAM auctions (id bigint, item_name string, category bigint, start_price double, ts timestamp)
  ORDER BY ts SOURCE 'generate:auction?events=20000&rate=1000&seed=42';

-- Auctions with more than 180 bids within two seconds: when they heat up, change and cool down.
CREATE VIEW hot AS
  SELECT STREAMED auction, count(*) AS bids, max(price) AS highest
  FROM bids [Range 2 Seconds]
  GROUP BY auction HAVING count(*) > 180;

-- The last hundred bids, whenever they came.
CREATE VIEW last_hundred AS
  SELECT COMPLETE count(*) AS bids, avg(price) AS mean, median(price) AS middle
  FROM bids [Rows 100];

-- The latest auction of every category.
CREATE VIEW newest AS
  SELECT COMPLETE category, id, item_name, start_price
  FROM auctions [Partition By category Rows 1];

-- Very large bids, one by one.
SELECT auction, bidder, price FROM bids WHERE price > 1200;
