-- How many different visitors came within the span up to now; it keeps one row of each.
AGGREGATE unique_visitors(visitor string, at timestamp, span interval) : int {
  TABLE visits(who string, newest timestamp) INDEX (who);
  UPDATE visits SET newest = at WHERE who = visitor;
  INSERT INTO visits VALUES (visitor, at) WHERE sqlcode > 0 AND visitor IS NOT NULL;
  DELETE FROM visits WHERE newest + span < at;
  INSERT INTO RETURN SELECT count(*) FROM visits;
}
