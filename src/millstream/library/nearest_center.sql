-- Online k-means: the number of the center that is nearest to the point, which moves towards it;
-- the first k points are the first centers.
AGGREGATE nearest_center(x double, y double, k int) : (center int, center_x double, center_y double) {
  TABLE centers(number int, cx double, cy double, n int);
  TABLE chosen(number int);
  INITIALIZE : ITERATE : {
    DELETE FROM chosen;
    INSERT INTO centers SELECT count(*) + 1, x, y, 0 FROM centers HAVING count(*) < k;
    INSERT INTO chosen
      SELECT number FROM centers
      ORDER BY (cx - x) * (cx - x) + (cy - y) * (cy - y), number LIMIT 1;
    UPDATE centers SET n = n + 1, cx = cx + (x - cx) / (n + 1), cy = cy + (y - cy) / (n + 1)
      WHERE number = (SELECT number FROM chosen);
    INSERT INTO RETURN
      SELECT centers.number, cx, cy FROM centers, chosen WHERE centers.number = chosen.number;
  }
}
