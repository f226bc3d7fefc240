-- A day at an auction house, seen by the queries that its people keep registered.
--
-- Five streams tell everything that happens. Members register, again when they move, and
-- deregister. They open lots and close them, and bid on the lots of others; the bids on a lot
-- rise. README.md follows some of the answers by hand.

CREATE STREAM registrations (at timestamp, member int, name string, town string)
  ORDER BY at SOURCE 'registrations.csv';
CREATE STREAM deregistrations (at timestamp, member int)
  ORDER BY at SOURCE 'deregistrations.csv';
CREATE STREAM openings (at timestamp, lot int, seller int, asked int)
  ORDER BY at SOURCE 'openings.csv';
CREATE STREAM closings (at timestamp, lot int)
  ORDER BY at SOURCE 'closings.csv';
CREATE STREAM bids (at timestamp, lot int, bidder int, amount int)
  ORDER BY at SOURCE 'bids.csv';


-- 1. A filter.

-- Lots that start above 100. Two defaults are at work: the stream has no window, so it is unbounded,
-- and the answer only grows, so it comes out as a stream.
CREATE VIEW valuable AS
  SELECT * FROM openings WHERE asked > 100;

-- The same with nothing left out, and nothing to remember.
CREATE VIEW valuable_now AS
  SELECT Istream(*) FROM openings [Now] WHERE asked > 100;

-- What is bid, in crowns.
CREATE VIEW in_crowns AS
  SELECT lot, bidder, amount * 7.5 AS crowns FROM bids;


-- 2. Aggregates over a sliding window.

-- How many bids the first ten lots got within the last hour: a relation of one row.
CREATE VIEW lively AS
  SELECT count(*) AS bids FROM bids [Range 1 Hour] WHERE lot >= 1 AND lot <= 10;

-- A row whenever that number changes.
CREATE VIEW lively_news AS
  SELECT Istream(count(*) AS bids) FROM bids [Range 1 Hour] WHERE lot >= 1 AND lot <= 10;

-- A row whenever any bid comes into the last hour or leaves it, whether the number changes or not.
CREATE VIEW lively_ticks AS
  SELECT Rstream(count(*) AS bids) FROM bids [Range 1 Hour] WHERE lot >= 1 AND lot <= 10;

-- A filter before a window by time is the same as one behind it.
CREATE VIEW lively_filtered AS
  SELECT count(*) AS bids FROM (SELECT * FROM bids WHERE lot >= 1 AND lot <= 10) [Range 1 Hour];

-- The lot of the last bid: when it is another one, and at every bid.
CREATE VIEW bidding AS
  SELECT Istream(lot) FROM bids [Rows 1];
CREATE VIEW bidding_ticks AS
  SELECT Rstream(lot) FROM bids [Rows 1];

-- The mean bid of ten minutes, whenever it changes; NULL when nobody bids.
CREATE VIEW mean_bid AS
  SELECT Istream(avg(amount) AS mean) FROM bids [Range 10 Minutes];


-- 3. A stream in a subquery.

-- The lots that are open. Rows leave when their lot is closed, so this is a stored result.
CREATE VIEW open_lots AS
  SELECT lot, seller, asked FROM openings WHERE lot NOT IN (SELECT lot FROM closings);

-- Their numbers, as a difference.
CREATE VIEW open_numbers AS
  SELECT lot FROM openings EXCEPT SELECT lot FROM closings;

-- Lots that closed and had no bid at all.
CREATE VIEW unsold AS
  SELECT Istream(lot) FROM closings [Now] c
  WHERE NOT EXISTS (SELECT * FROM bids b WHERE b.lot = c.lot);

-- Bids above the mean of the last hour, themselves counted in.
CREATE VIEW bold AS
  SELECT Rstream(lot, bidder, amount) FROM bids [Now]
  WHERE amount > (SELECT avg(amount) FROM bids [Range 1 Hour]);


-- 4. A relation made of streams.

-- The members: the latest registration of everybody who has not deregistered.
CREATE VIEW members AS
  SELECT member, name, town FROM registrations [Partition By member Rows 1]
  WHERE member NOT IN (SELECT member FROM deregistrations);

-- Who registered within two hours and is still there.
CREATE VIEW newcomers AS
  SELECT member FROM registrations [Range 2 Hours] EXCEPT SELECT member FROM deregistrations;

-- Rows that leave the members: somebody moved, or is gone.
CREATE VIEW departures AS
  SELECT Dstream(member, name, town) FROM members;


-- 5. A stream joined with a relation.

-- Lots of sellers who live in Dunmere when they open them.
CREATE VIEW from_dunmere AS
  SELECT Istream(o.*) FROM openings [Now] o, members m
  WHERE o.seller = m.member AND m.town = 'Dunmere';

-- Without [Now] a seller who moves to Dunmere brings along all lots of former days.
CREATE VIEW from_dunmere_ever AS
  SELECT Istream(o.*) FROM openings o, members m
  WHERE o.seller = m.member AND m.town = 'Dunmere';

-- The last five bids and who made them; a bid goes when its bidder deregisters.
CREATE VIEW last_five AS
  SELECT b.lot, m.name, b.amount FROM bids [Rows 5] b, members m WHERE b.bidder = m.member;


-- 6. Streams joined with streams.

-- Lots that close within five hours after they opened.
CREATE VIEW quick AS
  SELECT Istream(c.lot) FROM closings [Now] c, openings [Range 5 Hours] o WHERE c.lot = o.lot;

-- Bids in the very instant in which their lot closes.
CREATE VIEW last_second AS
  SELECT Rstream(b.lot, b.bidder, b.amount) FROM bids [Now] b, closings [Now] c
  WHERE b.lot = c.lot;


-- 7. Subqueries in FROM, with windows behind them.

-- What every lot was sold for: its latest price, be it a bid or what was asked, when it closes.
CREATE VIEW hammer AS
  SELECT Istream(c.lot, p.price)
  FROM closings [Now] c,
       ((SELECT lot, amount AS price FROM bids) UNION (SELECT lot, asked AS price FROM openings))
         [Partition By lot Rows 1] p
  WHERE c.lot = p.lot;

-- Nobody bids on a closed lot, so all the defaults together give the same answer.
CREATE VIEW hammer_by_default AS
  SELECT Istream(c.lot, p.price)
  FROM closings c,
       ((SELECT lot, amount AS price FROM bids) UNION (SELECT lot, asked AS price FROM openings))
         [Partition By lot Rows 1] p
  WHERE c.lot = p.lot;

-- The mean of the last three lots that each seller sold.
CREATE VIEW form AS
  SELECT seller, avg(price) AS mean, count(*) AS lots
  FROM (SELECT Rstream(o.seller, h.price) FROM hammer [Now] h, openings o WHERE h.lot = o.lot)
         [Partition By seller Rows 3]
  GROUP BY seller;

-- Every lot that was ever among the hottest, once. The view is defined further down.
CREATE VIEW once_hot AS
  SELECT Istream(DISTINCT lot) FROM (SELECT Istream(lot) FROM hot) [Range Unbounded];


-- 8. Relations on relations.

-- The lots with the most bids within an hour; several if they are level.
CREATE VIEW hot AS
  SELECT lot, count(*) AS bids FROM bids [Range 1 Hour] GROUP BY lot
  HAVING count(*) >= ALL (SELECT count(*) FROM bids [Range 1 Hour] GROUP BY lot);

-- The three with the most bids, the lower number first where they are level.
CREATE VIEW top_lots AS
  SELECT lot, count(*) AS bids FROM bids [Range 1 Hour] GROUP BY lot
  ORDER BY bids DESC, lot LIMIT 3;

-- How the open lots stand: the highest bid, none as yet if it is NULL.
CREATE VIEW standing AS
  SELECT o.lot, o.asked, max(b.amount) AS highest, count(b.amount) AS bids
  FROM open_lots o LEFT JOIN bids b ON b.lot = o.lot
  GROUP BY o.lot, o.asked;

-- What the towns sold within three hours, by where their sellers live now.
CREATE VIEW takings AS
  SELECT m.town, sum(h.price) AS total, count(*) AS lots
  FROM hammer [Range 3 Hours] h
       JOIN openings o ON h.lot = o.lot JOIN members m ON o.seller = m.member
  GROUP BY m.town;
