-- No time in the data: rows count by the order in which they arrive.
CREATE STREAM steps (runner string, steps int) SOURCE 'steps.jsonl';

-- The mean of each runner's last two rows, after every second row of the runner.
SELECT STREAMED runner, avg(steps) AS mean
FROM steps [Partition By runner Rows 2 Slide 2]
GROUP BY runner;

-- The best of the last three rows of anybody, after every row.
Rstream(SELECT max(steps) AS best FROM steps [Rows 3]);
