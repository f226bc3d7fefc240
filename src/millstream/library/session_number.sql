-- Numbers the sessions: a row that comes more than the gap after the one before begins the next.
AGGREGATE session_number(at timestamp, gap interval) : int {
  TABLE state(newest timestamp, number int);
  INITIALIZE : {
    INSERT INTO state VALUES (at, 1);
    INSERT INTO RETURN VALUES (1);
  }
  ITERATE : {
    UPDATE state SET number = number + CASE WHEN at - newest > gap THEN 1 ELSE 0 END, newest = at;
    INSERT INTO RETURN SELECT number FROM state;
  }
}
