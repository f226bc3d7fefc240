-- The same feed by the clock on the wall: what counts is when an event arrives, not when it was made.
-- Two runs hardly ever see the same windows.

CREATE STREAM events (event string, id bigint, category bigint, auction bigint, price double)
  ORDER BY current_time SOURCE 'generate:auction?events=4000&rate=50&seed=11';

CREATE STREAM auctions AS
  SELECT Istream(id, category) FROM events WHERE event = 'auction';
CREATE STREAM bids AS
  SELECT Istream(auction, price) FROM events WHERE event = 'bid';

-- What is bid for auctions that are new: both arrived within the last two seconds.
CREATE VIEW fresh_bids AS
  SELECT STREAMED a.category, count(*) AS bids, max(b.price) AS highest
  FROM bids [Range 2 Seconds] b, auctions [Range 2 Seconds] a
  WHERE b.auction = a.id
  GROUP BY a.category;
