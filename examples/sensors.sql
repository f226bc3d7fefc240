-- Readings come over the air: up to 20 seconds late, sometimes later, sometimes garbled.
-- What is later than that is in readings.late, what cannot be read in readings.errors.
CREATE STREAM readings (at timestamp, room string, degrees double)
  ORDER BY at SLACK 20 Seconds
  SOURCE 'sensors.csv' WITH (ahead = '1 hour');

-- Rooms whose latest reading is above 30 degrees: when they get hot, and when they cool down.
CREATE VIEW hot_rooms AS
  SELECT STREAMED room, last(degrees) AS degrees
  FROM readings [Partition By room Rows 1]
  GROUP BY room HAVING last(degrees) > 30;

-- The mean of the last minute in every room.
CREATE VIEW means AS
  SELECT STREAMED room, round(avg(degrees), 2) AS mean, count(degrees) AS readings
  FROM readings [Range 1 Minute]
  GROUP BY room;

-- Readings without a value.
SELECT room FROM readings WHERE degrees IS NULL;
