-- Cars on toll roads report where they are, every 30 seconds. A segment is a mile; direction 0 leads
-- to higher segments, direction 1 to lower ones; position counts feet, speed miles per hour.
CREATE STREAM reports (ts timestamp, car int, speed int, road int, lane int, direction int,
                       segment int, position int)
  ORDER BY ts SOURCE 'reports.csv';
-- Every segment with its rate: the toll in cents before the segment gets crowded.
CREATE TABLE segments (road int, segment int, rate int) SOURCE 'segments.csv';

-- Cars on the road: where each was when it last reported, as long as that is no older than 30 seconds.
CREATE VIEW active AS
  SELECT car, road, direction, segment, lane, position
  FROM reports [Partition By car Rows 1 Range 30 Seconds];

-- A car enters a segment. A report from the segment it was in before changes nothing here.
CREATE STREAM entries AS
  SELECT Istream(car, road, direction, segment) FROM active;

-- How fast the cars of the last five minutes were.
CREATE VIEW speeds AS
  SELECT road, direction, segment, avg(speed) AS speed
  FROM reports [Range 5 Minutes]
  GROUP BY road, direction, segment;

-- How many cars there are.
CREATE VIEW traffic AS
  SELECT road, direction, segment, count(*) AS cars
  FROM active
  GROUP BY road, direction, segment;

-- Cars that stand still: the same position four times in a row, within two minutes.
CREATE VIEW stopped AS
  SELECT car, min(road) AS road, min(direction) AS direction, min(lane) AS lane,
         min(segment) AS segment, min(position) AS position
  FROM reports [Partition By car Rows 4 Range 2 Minutes]
  GROUP BY car
  HAVING count(*) = 4 AND min(position) = max(position) AND min(lane) = max(lane);

-- An accident: two or more cars stand in one spot.
CREATE VIEW accidents AS
  SELECT road, direction, segment, position, count(*) AS cars
  FROM stopped
  GROUP BY road, direction, segment, position, lane
  HAVING count(*) > 1;

-- The segment of an accident and the four before it.
CREATE VIEW zones AS
  SELECT DISTINCT a.road, a.direction, s.segment
  FROM accidents a JOIN segments s
    ON s.road = a.road
   AND s.segment BETWEEN a.segment - 4 * (1 - a.direction) AND a.segment + 4 * a.direction;

-- The toll of a segment that is slow and crowded; nobody pays near an accident.
CREATE VIEW tolls AS
  SELECT t.road, t.direction, t.segment, s.rate + 2 * (t.cars - 3) * (t.cars - 3) AS toll
  FROM traffic t
  JOIN speeds v ON v.road = t.road AND v.direction = t.direction AND v.segment = t.segment
  JOIN segments s ON s.road = t.road AND s.segment = t.segment
  WHERE v.speed < 40 AND t.cars > 3
    AND NOT EXISTS (SELECT * FROM zones z
                    WHERE z.road = t.road AND z.direction = t.direction AND z.segment = t.segment);

-- A car that enters a segment is told what it pays: the toll of that very instant.
CREATE STREAM charges AS
  SELECT Rstream(e.car, e.road, e.direction, e.segment, coalesce(t.toll, 0) AS toll)
  FROM entries [Now] e LEFT JOIN tolls t
    ON t.road = e.road AND t.direction = e.direction AND t.segment = e.segment;

-- A car that enters the zone of an accident is warned.
CREATE STREAM warnings AS
  SELECT Rstream(e.car, e.road, e.direction, e.segment)
  FROM entries [Now] e, zones z
  WHERE z.road = e.road AND z.direction = e.direction AND z.segment = e.segment;

-- What every car has to pay so far.
CREATE VIEW accounts AS
  SELECT car, sum(toll) AS balance, count(*) AS segments FROM charges GROUP BY car;

-- What every road has earned so far, and how many cars used it.
CREATE VIEW roads AS
  SELECT road, sum(toll) AS earned, count(DISTINCT car) AS cars FROM charges GROUP BY road;

-- The three cars with the highest bills.
CREATE VIEW highest AS
  SELECT car, balance FROM accounts ORDER BY balance DESC LIMIT 3;

-- Cars on the road that have not paid anything yet.
CREATE VIEW free_riders AS
  SELECT car, road, segment FROM active
  WHERE car NOT IN (SELECT car FROM accounts WHERE balance > 0);

-- Segments where the mean speed is less than half of the mean on all roads.
CREATE VIEW jams AS
  SELECT STREAMED road, direction, segment, speed FROM speeds
  WHERE 2 * speed < (SELECT avg(speed) FROM reports [Range 5 Minutes]);
