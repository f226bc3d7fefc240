CREATE STREAM orders (at timestamp, customer string, item string, amount double) ORDER BY at;
CREATE STREAM payments (at timestamp, item string, paid double) ORDER BY at;
CREATE TABLE products (item string, price double) KEY (item) WITH (time = 'timestamp');
CREATE VIEW big_orders AS SELECT item, amount FROM orders [Range 1 Hour] WHERE amount > 100;
