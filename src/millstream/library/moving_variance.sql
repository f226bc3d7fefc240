-- The sample variance, kept up to date as values come and go.
AGGREGATE moving_variance(value double) : double {
  TABLE state(n int, mean double, squares double) AS VALUES (0, 0.0, 0.0);
  INITIALIZE : ITERATE : {
    UPDATE state SET n = n + 1, mean = mean + (value - mean) / (n + 1),
                     squares = squares + (value - mean) * (value - mean) * n / (n + 1)
      WHERE value IS NOT NULL;
  }
  TERMINATE : { INSERT INTO RETURN SELECT squares / nullif(greatest(n - 1, 0), 0) FROM state; }
}

WINDOW AGGREGATE moving_variance(value double) : double {
  TABLE state(n int, mean double, squares double) AS VALUES (0, 0.0, 0.0);
  INITIALIZE : ITERATE : {
    UPDATE state SET n = n + 1, mean = mean + (value - mean) / (n + 1),
                     squares = squares + (value - mean) * (value - mean) * n / (n + 1)
      WHERE value IS NOT NULL;
    INSERT INTO RETURN SELECT squares / nullif(greatest(n - 1, 0), 0) FROM state;
  }
  EXPIRE : {
    UPDATE state SET n = n - 1,
                     mean = CASE WHEN n > 1 THEN mean - (value - mean) / (n - 1) ELSE 0.0 END,
                     squares = CASE WHEN n > 2
                       THEN greatest(squares - (value - mean) * (value - mean) * n / (n - 1), 0.0)
                       ELSE 0.0 END
      WHERE value IS NOT NULL;
  }
}
