-- The value in a place, counted from 1.
AGGREGATE nth(value double, place int) : double {
  TABLE state(seen int, kept double) AS VALUES (0, CAST(NULL AS double));
  INITIALIZE : ITERATE : {
    UPDATE state SET seen = seen + 1, kept = CASE WHEN seen + 1 = place THEN value ELSE kept END;
  }
  TERMINATE : { INSERT INTO RETURN SELECT kept FROM state; }
}
