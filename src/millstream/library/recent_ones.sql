-- About how many of the last values were 1, to a tenth: an exponential histogram, whose state
-- grows with the logarithm.
AGGREGATE recent_ones(bit int, last int) : double {
  TABLE clock(now int) AS VALUES (0);
  TABLE sizes(step int) AS VALUES
    (1), (2), (4), (8), (16), (32), (64), (128), (256), (512), (1024), (2048), (4096), (8192), (16384), (32768),
    (65536), (131072), (262144), (524288), (1048576), (2097152), (4194304), (8388608), (16777216), (33554432), (67108864), (134217728), (268435456), (536870912), (1073741824);
  TABLE piles(size int, newest int);

  -- Of more than ten piles of a size, the two oldest become one of twice the size.
  AGGREGATE merged(step int) : int {
    INITIALIZE : ITERATE : {
      DELETE FROM piles WHERE size = step
        AND newest = (SELECT min(p.newest) FROM piles AS p WHERE p.size = step)
        AND (SELECT count(*) FROM piles AS p WHERE p.size = step) > 10;
      UPDATE piles SET size = 2 * step WHERE sqlcode = 0 AND size = step
        AND newest = (SELECT min(p.newest) FROM piles AS p WHERE p.size = step);
    }
  }

  INITIALIZE : ITERATE : {
    UPDATE clock SET now = now + 1;
    DELETE FROM piles WHERE newest <= (SELECT now FROM clock) - last;
    INSERT INTO piles SELECT 1, now FROM clock WHERE bit = 1;
    INSERT INTO RETURN SELECT merged(step) FROM sizes
      WHERE bit = 1 AND step <= (SELECT max(size) FROM piles) ORDER BY step;
    INSERT INTO RETURN
      SELECT coalesce(sum(size) - (SELECT size - 1 FROM piles ORDER BY newest LIMIT 1) / 2, 0.0)
      FROM piles;
  }
}
