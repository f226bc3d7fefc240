-- A classifier that learns as it goes: for a row whose label is NULL it returns the most likely
-- one, from the rows before with a label; a row with a label teaches it, and returns nothing.
AGGREGATE naive_bayes(label string, first string, second string, third string) : string {
  TABLE labels(label string, n int) INDEX (label);
  TABLE features(label string, number int, value string, n int) INDEX (label, number, value);
  TABLE given(number int, value string);
  INITIALIZE : ITERATE : {
    DELETE FROM given;
    INSERT INTO given VALUES (1, first), (2, second), (3, third);
    UPDATE labels SET n = n + 1 WHERE labels.label = label;
    INSERT INTO labels VALUES (label, 1) WHERE sqlcode > 0 AND label IS NOT NULL;
    UPDATE features SET n = n + 1 WHERE features.label = label
      AND EXISTS (SELECT * FROM given AS g WHERE g.number = features.number AND g.value = features.value);
    INSERT INTO features
      SELECT label, g.number, g.value, 1 FROM given AS g
      WHERE label IS NOT NULL AND g.value IS NOT NULL
        AND NOT EXISTS (SELECT * FROM features AS f
                        WHERE f.label = label AND f.number = g.number AND f.value = g.value);
    INSERT INTO RETURN
      SELECT l.label FROM labels AS l WHERE label IS NULL
      ORDER BY ln(l.n) + (
        SELECT sum(ln(coalesce((SELECT f.n FROM features AS f
                                WHERE f.label = l.label AND f.number = g.number AND f.value = g.value), 0)
                      + 1) - ln(l.n + 2))
        FROM given AS g) DESC, l.label
      LIMIT 1;
  }
}
