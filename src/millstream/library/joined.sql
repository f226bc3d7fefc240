-- The texts one after the other, with a separator between them.
AGGREGATE joined(value string, separator string) : string {
  TABLE state(whole string);
  INITIALIZE : { INSERT INTO state VALUES (value); }
  ITERATE : {
    UPDATE state SET whole = coalesce(whole || separator || value, value) WHERE value IS NOT NULL;
  }
  TERMINATE : { INSERT INTO RETURN SELECT whole FROM state; }
}
