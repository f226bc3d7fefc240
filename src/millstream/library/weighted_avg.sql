-- The mean in which each value counts as much as its weight says.
AGGREGATE weighted_avg(value double, weight double) : double {
  TABLE state(total double, weights double) AS VALUES (0.0, 0.0);
  INITIALIZE : ITERATE : {
    UPDATE state SET total = total + value * weight, weights = weights + weight
      WHERE value IS NOT NULL AND weight IS NOT NULL;
  }
  TERMINATE : { INSERT INTO RETURN SELECT total / weights FROM state; }
}

WINDOW AGGREGATE weighted_avg(value double, weight double) : double {
  TABLE state(total double, weights double, n int) AS VALUES (0.0, 0.0, 0);
  INITIALIZE : ITERATE : {
    UPDATE state SET total = total + value * weight, weights = weights + weight, n = n + 1
      WHERE value IS NOT NULL AND weight IS NOT NULL;
    INSERT INTO RETURN SELECT total / weights FROM state;
  }
  EXPIRE : {
    UPDATE state SET total = CASE WHEN n > 1 THEN total - value * weight ELSE 0.0 END,
                     weights = CASE WHEN n > 1 THEN weights - weight ELSE 0.0 END, n = n - 1
      WHERE value IS NOT NULL AND weight IS NOT NULL;
  }
}
