-- Money moves from one account to another. Transfers arrive up to ten seconds late.
CREATE STREAM transfers (id bigint, source int, target int, amount bigint, ts timestamp)
  ORDER BY ts SLACK 10 Seconds SOURCE 'transfers.csv';

-- What every account has received so far, in cents.
CREATE VIEW credits AS
  SELECT target AS account, sum(amount) AS credit FROM transfers GROUP BY target;

-- What every account has sent so far.
CREATE VIEW debits AS
  SELECT source AS account, sum(amount) AS debit FROM transfers GROUP BY source;

-- The balance of every account that has received or sent anything.
CREATE VIEW balances AS
  SELECT account, coalesce(credit, 0) - coalesce(debit, 0) AS balance
  FROM credits FULL JOIN debits USING (account);

-- The sum of all balances, at every instant at which one of them moves. A transfer leaves one account
-- and reaches another at one instant, so this is 0 in every row.
CREATE VIEW total AS
  SELECT Rstream(sum(balance) AS total, count(*) AS accounts) FROM balances;
