-- Counts the XML elements that stand on a path, such as '/shop/item', from the tokens of a
-- document: 'start' and 'end' with a name each.
AGGREGATE xml_count(kind string, name string, path string) : int {
  TABLE state(at string, found int) AS VALUES ('', 0);
  INITIALIZE : ITERATE : {
    UPDATE state SET at = at || '/' || name WHERE kind = 'start';
    UPDATE state SET found = found + 1 WHERE kind = 'start' AND at = path;
    INSERT INTO RETURN SELECT found FROM state WHERE sqlcode = 0;
    UPDATE state SET at = left(at, length(at) - length(name) - 1)
      WHERE kind = 'end' AND at LIKE '%/' || name;
  }
}
