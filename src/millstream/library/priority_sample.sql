-- A sample of the values in the window: those with the k largest chances, such as hash(id), so
-- that each is as likely as any other. No two chances may be equal.
WINDOW AGGREGATE priority_sample(value double, chance int, k int) : double {
  TABLE inwindow(v, c, wanted);
  TABLE kept(v double, c int, above int);
  INITIALIZE : ITERATE : {
    UPDATE kept SET above = above + 1 WHERE c < chance;
    DELETE FROM kept WHERE above >= k;
    INSERT INTO kept VALUES (value, chance, 0);
    DELETE FROM inwindow WHERE inwindow.c NOT IN (SELECT kept.c FROM kept);
    INSERT INTO RETURN SELECT v FROM kept ORDER BY c DESC LIMIT k;
  }
  EXPIRE : { DELETE FROM kept WHERE c = chance; }
}

AGGREGATE priority_sample(value double, chance int, k int) : double {
  TABLE kept(v double, c int);
  INITIALIZE : ITERATE : {
    INSERT INTO kept VALUES (value, chance);
    DELETE FROM kept WHERE c = (SELECT min(c) FROM kept) AND (SELECT count(*) FROM kept) > k;
  }
  TERMINATE : { INSERT INTO RETURN SELECT v FROM kept ORDER BY c DESC; }
}
