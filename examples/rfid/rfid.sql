-- RFID readers in a warehouse: which products were packed together, and what was carried out alone.

CREATE STREAM packed (at timestamp, line string, tag string)
  ORDER BY at SLACK 1 Second SOURCE 'packed.csv';

CREATE STREAM passed (at timestamp, door string, tag string, kind string)
  ORDER BY at SLACK 1 Second SOURCE 'passed.csv';


-- Products that come within two seconds of the one before go into one case. Each line of the
-- packing station counts its cases.
AGGREGATE packed_into(at timestamp, gap interval) : (number int, place int) {
  TABLE last(seen timestamp, number int, place int);
  INITIALIZE : {
    INSERT INTO last VALUES (at, 1, 1);
    INSERT INTO RETURN VALUES (1, 1);
  }
  ITERATE : {
    UPDATE last SET number = number + 1, place = 0 WHERE at - seen > gap;
    UPDATE last SET seen = at, place = place + 1;
    INSERT INTO RETURN SELECT number, last.place FROM last;
  }
}

CREATE VIEW cases AS
  SELECT line, tag, packed_into(at, INTERVAL '2' SECOND)
                      OVER (PARTITION BY line ROWS UNBOUNDED PRECEDING)
  FROM packed;

-- How full were they? A case is complete when nothing has come for two seconds.
CREATE VIEW fillings AS
  SELECT Istream(line, count(*) AS products, window_end AS at)
  FROM packed [Partition By line Session 2 Seconds] GROUP BY line, window_end;


-- A product may leave only with somebody from the staff, who is seen at the same door within five
-- seconds before or after. A product waits in the window; a badge takes out those that wait, and
-- one that comes within five seconds of a badge does not wait. What time drives out was alone.
WINDOW AGGREGATE unattended(tag string, kind string) : string {
  TABLE inwindow(seen, seen_kind);
  INITIALIZE : ITERATE : {
    DELETE FROM inwindow WHERE kind = 'badge' AND seen_kind = 'product';
    DELETE FROM inwindow WHERE kind = 'product' AND seen_kind = 'product' AND seen = tag
      AND EXISTS (SELECT seen FROM inwindow AS other WHERE other.seen_kind = 'badge');
  }
  EXPIRE : { INSERT INTO RETURN VALUES ('carried out alone') WHERE kind = 'product'; }
}

CREATE STREAM thefts AS (
  SELECT door, tag, at AS left_at,
         unattended(tag, kind)
           OVER (PARTITION BY door RANGE 5 SECONDS PRECEDING ACTIVE EXPIRATION) AS alarm
  FROM passed);

-- How many alarms has each door had within an hour?
CREATE VIEW doors AS
  SELECT door, count(*) AS alarms FROM thefts [Range 1 Hour] GROUP BY door;
