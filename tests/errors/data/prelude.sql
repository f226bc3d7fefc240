CREATE STREAM bids (item bigint, price double, bidder string, ts timestamp) ORDER BY ts;
CREATE STREAM ticks (n bigint, symbol string, price decimal(10,2)) ORDER BY n;
CREATE STREAM clicks (url string, seconds int);
CREATE STREAM logins (who string, ok boolean) ORDER BY current_time;
CREATE TABLE items (item bigint, name string) KEY (item) SOURCE 'items.csv';
CREATE TABLE people (name string, born date) SOURCE 'people.csv';
CREATE VIEW hot AS SELECT item, count(*) AS bids FROM bids [Range 1 Minute] GROUP BY item;
CREATE STREAM cheap AS SELECT Istream(item, price) FROM bids [Now] WHERE price < 10;
