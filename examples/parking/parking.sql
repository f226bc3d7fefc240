-- A parking garage: cameras at its gates, and a thermometer on every deck.

REGISTER SOURCE gate_in (timestamp at, char plate, char kind) ORDER BY at FROM 'entries.csv';
REGISTER SOURCE gate_out (timestamp at, char plate, char kind) ORDER BY at FROM 'exits.csv';
REGISTER SOURCE thermometers (timestamp at, char deck, int degrees) ORDER BY at FROM 'degrees.csv';

-- Each car that passes a gate is a row of its own; a deck has one row, its latest temperature.
CREATE STREAM entered OVER gate_in KEY NULL;
CREATE STREAM exited OVER gate_out KEY NULL;
CREATE STREAM decks OVER thermometers KEY deck;
CREATE STREAM readings OVER thermometers KEY NULL;

-- The cars inside: those that have come once more than they have left.
CREATE STREAMED VIEW inside AS
  SELECT plate, kind FROM R(entered) EXCEPT ALL SELECT plate, kind FROM R(exited);

-- How many of each kind, computed from the view; and the kinds of which there are many.
CREATE STREAMED VIEW by_kind AS SELECT kind, count(*) AS cars FROM R(inside) GROUP BY kind;
CREATE STREAMED VIEW many AS SELECT kind, cars FROM R(by_kind) WHERE cars >= 5;

-- Who has been inside since when: TS is the time at which a row came into the view.
CREATE COMPLETE VIEW parked AS SELECT plate, kind, TS AS since FROM R(inside);

-- Hot decks, and those among them that are very hot. A deck that cools down leaves both.
CREATE STREAMED VIEW hot AS SELECT deck, degrees FROM R(decks) WHERE degrees > 40;
CREATE STREAMED VIEW very_hot AS SELECT deck, degrees FROM R(hot) WHERE degrees > 55;

-- The same thermometers under no key: the average of all that they have ever said.
CREATE STREAMED VIEW overall AS SELECT count(*) AS readings, avg(degrees) AS degrees FROM R(readings);

-- A board at the entrance that changes every five minutes only.
CREATE VIEW five_minutes AS SELECT Timepoint FROM clockStr WHERE Timepoint % 300 = 0;
CREATE STREAMED VIEW board AS SELECT kind, cars FROM R(by_kind, five_minutes);
