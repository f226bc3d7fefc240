-- The last value, NULLs left out.
AGGREGATE latest(value double) : double {
  TABLE state(kept double);
  INITIALIZE : { INSERT INTO state VALUES (value); }
  ITERATE : { UPDATE state SET kept = value WHERE value IS NOT NULL; }
  TERMINATE : { INSERT INTO RETURN SELECT kept FROM state; }
}

WINDOW AGGREGATE latest(value double) : double {
  TABLE inwindow(v);
  DELETE FROM inwindow WHERE v IS NULL OR (value IS NOT NULL AND v <> value);
  INSERT INTO RETURN SELECT max(v) FROM inwindow;
}
