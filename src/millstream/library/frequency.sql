-- About how often the item has come: never less, and seldom more. Four tables of 2,048 counters.
AGGREGATE frequency(item string) : int {
  TABLE counters(place int, n int) INDEX (place);
  INITIALIZE : ITERATE : {
    UPDATE counters SET n = n + 1 WHERE place = hash(item, 1) % 2048;
    INSERT INTO counters VALUES (hash(item, 1) % 2048, 1) WHERE sqlcode > 0 AND item IS NOT NULL;
    UPDATE counters SET n = n + 1 WHERE place = 2048 + hash(item, 2) % 2048;
    INSERT INTO counters VALUES (2048 + hash(item, 2) % 2048, 1) WHERE sqlcode > 0 AND item IS NOT NULL;
    UPDATE counters SET n = n + 1 WHERE place = 4096 + hash(item, 3) % 2048;
    INSERT INTO counters VALUES (4096 + hash(item, 3) % 2048, 1) WHERE sqlcode > 0 AND item IS NOT NULL;
    UPDATE counters SET n = n + 1 WHERE place = 6144 + hash(item, 4) % 2048;
    INSERT INTO counters VALUES (6144 + hash(item, 4) % 2048, 1) WHERE sqlcode > 0 AND item IS NOT NULL;
    INSERT INTO RETURN VALUES (least(
      (SELECT n FROM counters WHERE place = hash(item, 1) % 2048),
      (SELECT n FROM counters WHERE place = 2048 + hash(item, 2) % 2048),
      (SELECT n FROM counters WHERE place = 4096 + hash(item, 3) % 2048),
      (SELECT n FROM counters WHERE place = 6144 + hash(item, 4) % 2048)));
  }
}

WINDOW AGGREGATE frequency(item string) : int {
  TABLE counters(place int, n int) INDEX (place);
  INITIALIZE : ITERATE : {
    UPDATE counters SET n = n + 1 WHERE place = hash(item, 1) % 2048;
    INSERT INTO counters VALUES (hash(item, 1) % 2048, 1) WHERE sqlcode > 0 AND item IS NOT NULL;
    UPDATE counters SET n = n + 1 WHERE place = 2048 + hash(item, 2) % 2048;
    INSERT INTO counters VALUES (2048 + hash(item, 2) % 2048, 1) WHERE sqlcode > 0 AND item IS NOT NULL;
    UPDATE counters SET n = n + 1 WHERE place = 4096 + hash(item, 3) % 2048;
    INSERT INTO counters VALUES (4096 + hash(item, 3) % 2048, 1) WHERE sqlcode > 0 AND item IS NOT NULL;
    UPDATE counters SET n = n + 1 WHERE place = 6144 + hash(item, 4) % 2048;
    INSERT INTO counters VALUES (6144 + hash(item, 4) % 2048, 1) WHERE sqlcode > 0 AND item IS NOT NULL;
    INSERT INTO RETURN VALUES (least(
      (SELECT n FROM counters WHERE place = hash(item, 1) % 2048),
      (SELECT n FROM counters WHERE place = 2048 + hash(item, 2) % 2048),
      (SELECT n FROM counters WHERE place = 4096 + hash(item, 3) % 2048),
      (SELECT n FROM counters WHERE place = 6144 + hash(item, 4) % 2048)));
  }
  EXPIRE : {
    UPDATE counters SET n = n - 1 WHERE place = hash(item, 1) % 2048;
    UPDATE counters SET n = n - 1 WHERE place = 2048 + hash(item, 2) % 2048;
    UPDATE counters SET n = n - 1 WHERE place = 4096 + hash(item, 3) % 2048;
    UPDATE counters SET n = n - 1 WHERE place = 6144 + hash(item, 4) % 2048;
  }
}
