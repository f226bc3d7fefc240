CREATE STREAM bids (item bigint, price double, bidder string, ts timestamp) ORDER BY ts;
CREATE STREAM ticks (n bigint, symbol string, price decimal(10,2)) ORDER BY n;
CREATE STREAM clicks (url string, seconds int);
CREATE STREAM logins (who string, ok boolean) ORDER BY current_time;
CREATE TABLE items (item bigint, name string) KEY (item) SOURCE 'items.csv';
CREATE TABLE people (name string, born date) SOURCE 'people.csv';
CREATE VIEW hot AS SELECT item, count(*) AS bids FROM bids [Range 1 Minute] GROUP BY item;
CREATE STREAM cheap AS SELECT Istream(item, price) FROM bids [Now] WHERE price < 10;
AGGREGATE median_price(price double) : double {
  TABLE seen(v double);
  INITIALIZE : ITERATE : { INSERT INTO seen VALUES (price); }
  TERMINATE : { INSERT INTO RETURN SELECT median(v) FROM seen; }
}
AGGREGATE steps(x double) : (low double, high double) {
  TABLE before(v double);
  INITIALIZE : { INSERT INTO before VALUES (x); }
  ITERATE : { INSERT INTO RETURN SELECT v, x FROM before; UPDATE before SET v = x; }
}
WINDOW AGGREGATE highest(x double) : double {
  TABLE inwindow(v);
  INITIALIZE : { INSERT INTO RETURN VALUES (x); }
  ITERATE : { DELETE FROM inwindow WHERE v < x; INSERT INTO RETURN VALUES (oldest()); }
}
FUNCTION around(x double) : (low double, high double) { INSERT INTO RETURN VALUES (x - 1, x + 1); }
