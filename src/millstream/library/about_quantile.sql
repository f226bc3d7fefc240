-- A quantile, to one hundredth of its value: values are counted in piles whose bounds grow by a
-- fiftieth.
AGGREGATE about_quantile(value double, fraction double) : double {
  TABLE piles(place int, n int) INDEX (place);
  INITIALIZE : ITERATE : {
    UPDATE piles SET n = n + 1
      WHERE value IS NOT NULL AND place = CASE WHEN value > 0 THEN 100000 + ceil(ln(value) / ln(1.02))
                 WHEN value < 0 THEN -100000 - ceil(ln(0 - value) / ln(1.02)) ELSE 0 END;
    INSERT INTO piles VALUES (CASE WHEN value > 0 THEN 100000 + ceil(ln(value) / ln(1.02))
                 WHEN value < 0 THEN -100000 - ceil(ln(0 - value) / ln(1.02)) ELSE 0 END, 1)
      WHERE sqlcode > 0 AND value IS NOT NULL;
  }
  TERMINATE : {
    INSERT INTO RETURN
      SELECT CASE WHEN place > 0 THEN power(1.02, place - 100000.5)
                  WHEN place < 0 THEN 0 - power(1.02, 0 - place - 100000.5) ELSE 0.0 END
      FROM piles
      WHERE (SELECT sum(p.n) FROM piles AS p WHERE p.place <= piles.place)
            >= fraction * (SELECT sum(n) FROM piles) AND n > 0
      ORDER BY place LIMIT 1;
  }
}

WINDOW AGGREGATE about_quantile(value double, fraction double) : double {
  TABLE piles(place int, n int) INDEX (place);
  INITIALIZE : ITERATE : {
    UPDATE piles SET n = n + 1
      WHERE value IS NOT NULL AND place = CASE WHEN value > 0 THEN 100000 + ceil(ln(value) / ln(1.02))
                 WHEN value < 0 THEN -100000 - ceil(ln(0 - value) / ln(1.02)) ELSE 0 END;
    INSERT INTO piles VALUES (CASE WHEN value > 0 THEN 100000 + ceil(ln(value) / ln(1.02))
                 WHEN value < 0 THEN -100000 - ceil(ln(0 - value) / ln(1.02)) ELSE 0 END, 1)
      WHERE sqlcode > 0 AND value IS NOT NULL;
    INSERT INTO RETURN
      SELECT CASE WHEN place > 0 THEN power(1.02, place - 100000.5)
                  WHEN place < 0 THEN 0 - power(1.02, 0 - place - 100000.5) ELSE 0.0 END
      FROM piles
      WHERE (SELECT sum(p.n) FROM piles AS p WHERE p.place <= piles.place)
            >= fraction * (SELECT sum(n) FROM piles) AND n > 0
      ORDER BY place LIMIT 1;
  }
  EXPIRE : {
    UPDATE piles SET n = n - 1
      WHERE value IS NOT NULL AND place = CASE WHEN value > 0 THEN 100000 + ceil(ln(value) / ln(1.02))
                 WHEN value < 0 THEN -100000 - ceil(ln(0 - value) / ln(1.02)) ELSE 0 END;
    DELETE FROM piles WHERE n = 0;
  }
}
