-- The queries of the NEXMark benchmark for which built-in aggregates will do, over the generator:
-- 80 seconds of persons, auctions and bids, 50 events a second. An auction is open for ten seconds
-- on average, for five at least and less than fifteen.

CREATE STREAM persons (id bigint, name string, city string, state string, ts timestamp)
  ORDER BY ts SOURCE 'generate:auction?events=4000&rate=50&seed=11&life=10';
CREATE STREAM auctions (id bigint, seller bigint, category bigint, ts timestamp)
  ORDER BY ts SOURCE 'generate:auction?events=4000&rate=50&seed=11&life=10';
CREATE STREAM bids (auction bigint, bidder bigint, price double, ts timestamp)
  ORDER BY ts SOURCE 'generate:auction?events=4000&rate=50&seed=11&life=10';

-- An auction closes when it expires: the auctions once more, by that time. They are known in the
-- order in which they open, which is up to ten seconds out of order.
CREATE STREAM closings (id bigint, seller bigint, category bigint, expires timestamp)
  ORDER BY expires SLACK 10 Seconds
  SOURCE 'generate:auction?events=4000&rate=50&seed=11&life=10&kind=auctions';


-- Currency conversion: prices in euros.
CREATE VIEW in_euros AS
  SELECT auction, bidder, price * 0.89 AS euros FROM bids;

-- Selection: the bids on certain auctions.
CREATE VIEW selected AS
  SELECT auction, price FROM bids WHERE auction % 9 = 0;

-- Local items: who sells things of category 10 in three states.
CREATE VIEW local_items AS
  SELECT p.name, p.city, p.state, a.id
  FROM auctions a, persons p
  WHERE a.seller = p.id AND a.category = 10 AND p.state IN ('OR', 'ID', 'CA');

-- What auctions were sold for. A bid counts if it comes before the auction expires; nobody bids
-- before it opens, so the bids of the last fifteen seconds are all there can be.
CREATE VIEW sold AS
  SELECT Istream(c.id, c.seller, c.category, max(b.price) AS price)
  FROM closings [Now] c, bids [Range 15 Seconds] b
  WHERE b.auction = c.id AND b.ts < c.expires
  GROUP BY c.id, c.seller, c.category;

-- The average price of every category.
CREATE VIEW category_prices AS
  SELECT category, avg(price) AS mean, count(*) AS sold FROM sold GROUP BY category;

-- Hot items: the auctions with the most bids within ten seconds, looked at every other second.
CREATE VIEW hot_items AS
  SELECT auction, count(*) AS bids FROM bids [Range 10 Seconds Slide 2 Seconds]
  GROUP BY auction
  HAVING count(*) >= ALL (SELECT count(*) FROM bids [Range 10 Seconds Slide 2 Seconds]
                          GROUP BY auction);

-- The average price of the last ten auctions that each seller sold.
CREATE VIEW seller_prices AS
  SELECT seller, avg(price) AS mean, count(*) AS sold
  FROM (SELECT Istream(c.id, c.seller, max(b.price) AS price)
        FROM closings [Now] c, bids [Range 15 Seconds] b
        WHERE b.auction = c.id AND b.ts < c.expires
        GROUP BY c.id, c.seller) [Partition By seller Rows 10]
  GROUP BY seller;

-- The highest bids of the last full ten seconds.
CREATE VIEW highest_bids AS
  SELECT auction, bidder, price FROM bids [Range 9.999999 Seconds Slide 10 Seconds]
  WHERE price = (SELECT max(price) FROM bids [Range 9.999999 Seconds Slide 10 Seconds]);

-- The bids that won, with the bidder's name if it is known: the highest of a closing auction.
CREATE VIEW winners AS
  SELECT Istream(c.id, b.bidder, p.name, b.price)
  FROM closings [Now] c
       JOIN bids [Range 15 Seconds] b ON b.auction = c.id AND b.ts < c.expires
       LEFT JOIN persons [Range 30 Seconds] p ON p.id = b.bidder
  WHERE b.price >= ALL (SELECT o.price FROM bids [Range 15 Seconds] o
                        WHERE o.auction = c.id AND o.ts < c.expires);

-- New users: those who came and opened an auction within the last twelve seconds.
CREATE VIEW new_users AS
  SELECT DISTINCT p.id, p.name FROM persons [Range 12 Seconds] p, auctions [Range 12 Seconds] a
  WHERE p.id = a.seller;
