-- The k largest values, a row each.
AGGREGATE largest(value double, k int) : double {
  TABLE kept(v double);
  INITIALIZE : ITERATE : {
    INSERT INTO kept VALUES (value) WHERE value IS NOT NULL
      AND ((SELECT count(*) FROM kept) < k OR value > (SELECT min(v) FROM kept));
    DELETE FROM kept
      WHERE sqlcode = 0 AND v = (SELECT min(v) FROM kept) AND (SELECT count(*) FROM kept) > k;
  }
  TERMINATE : { INSERT INTO RETURN SELECT v FROM kept ORDER BY v DESC LIMIT k; }
}
