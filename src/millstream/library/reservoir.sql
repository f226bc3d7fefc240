-- A sample of k of all values; which ones follows from their order alone, so a run can be repeated.
AGGREGATE reservoir(value double, k int) : double {
  TABLE state(seen int) AS VALUES (0);
  TABLE kept(place int, v double) INDEX (place);
  INITIALIZE : ITERATE : {
    UPDATE state SET seen = seen + 1;
    UPDATE kept SET v = value
      WHERE place = (SELECT hash(seen, 7) % seen FROM state WHERE seen > k);
    INSERT INTO kept SELECT seen - 1, value FROM state WHERE seen <= k;
  }
  TERMINATE : { INSERT INTO RETURN SELECT v FROM kept ORDER BY place; }
}
