-- The mean in which each value counts keep times as much as the one after it: 0.9 forgets slowly,
-- 0.5 fast.
AGGREGATE decay_avg(value double, keep double) : double {
  TABLE state(total double, weight double);
  INITIALIZE : {
    INSERT INTO state VALUES (coalesce(value, 0.0), CASE WHEN value IS NULL THEN 0.0 ELSE 1.0 END);
    INSERT INTO RETURN SELECT total / weight FROM state;
  }
  ITERATE : {
    UPDATE state SET total = keep * total + value, weight = keep * weight + 1
      WHERE value IS NOT NULL;
    INSERT INTO RETURN SELECT total / weight FROM state;
  }
}
