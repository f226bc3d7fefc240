-- The first value, NULLs left out.
AGGREGATE earliest(value double) : double {
  TABLE state(kept double);
  INITIALIZE : { INSERT INTO state VALUES (value); }
  ITERATE : { UPDATE state SET kept = value WHERE kept IS NULL; }
  TERMINATE : { INSERT INTO RETURN SELECT kept FROM state; }
}

WINDOW AGGREGATE earliest(value double) : double {
  TABLE inwindow(v);
  DELETE FROM inwindow WHERE v IS NULL;
  INSERT INTO RETURN VALUES (oldest());
}
