-- About how many different items there are, to a few hundredths: HyperLogLog with 1,024 registers.
AGGREGATE about_distinct(item string) : int {
  TABLE registers(place int, zeros int) INDEX (place);
  INITIALIZE : ITERATE : {
    UPDATE registers SET zeros = greatest(zeros, 31 - floor(log2(hash(item, 2) + 0.5)))
      WHERE place = hash(item, 1) % 1024;
    INSERT INTO registers VALUES (hash(item, 1) % 1024, 31 - floor(log2(hash(item, 2) + 0.5)))
      WHERE sqlcode > 0 AND item IS NOT NULL;
  }
  TERMINATE : {
    INSERT INTO RETURN
      SELECT CASE WHEN r.used < 1024 AND 755000 / r.total < 2560
                  THEN round(1024 * ln(1024.0 / (1024 - r.used))) ELSE round(755541.7 / r.total) END
      FROM (SELECT coalesce(sum(power(2, 0 - zeros)), 0) + 1024 - count(*) AS total, count(*) AS used
            FROM registers) AS r;
  }
}
