-- Orders flow; the list of products stands still.
CREATE STREAM orders (ts timestamp, customer string, product int, pieces int)
  ORDER BY ts SOURCE 'orders.csv';
CREATE TABLE products (id int, name string, category string, price decimal(8,2))
  KEY (id) SOURCE 'products.csv';

-- Orders with the money they bring, as a stream of its own.
CREATE STREAM sales (customer, category, amount) AS
  SELECT Istream(customer, category, CAST(pieces * price AS decimal(10,2)))
  FROM orders, products WHERE product = id;

-- Revenue per category, minute by minute.
CREATE VIEW per_minute AS
  SELECT STREAMED category, sum(amount) AS revenue, count(*) AS orders
  FROM sales [Range 59.999999 Seconds Slide 1 Minute]
  GROUP BY category;

-- What every customer has spent so far.
CREATE VIEW customers AS
  SELECT COMPLETE customer, sum(amount) AS spent, max(amount) AS largest
  FROM sales GROUP BY customer;

-- Orders of products that are not on the list.
SELECT o.customer, o.product FROM orders o LEFT JOIN products p ON o.product = p.id
WHERE p.id IS NULL;
