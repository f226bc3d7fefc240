-- The mean of all values so far.
AGGREGATE cumulative_avg(value double) : double {
  TABLE state(total double, n int) AS VALUES (0.0, 0);
  UPDATE state SET total = total + value, n = n + 1 WHERE value IS NOT NULL;
  INSERT INTO RETURN SELECT total / n FROM state;
}
