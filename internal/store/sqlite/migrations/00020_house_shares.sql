-- An order may offer shares of the house: its part of the notional is then negative, and so are the
-- shares that it gets. SQLite can change a rule of a table only in the text of its schema. The new
-- rules hold for every row.

-- +goose Up
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(sql, 'house >= 0 AND house <=notional', 'house <= notional              '),
    'house_shares BETWEEN 0 AND filled_qty', 'house_shares <= filled_qty           ') WHERE name = 'orders';
PRAGMA writable_schema = OFF;
-- The connection that migrates reads the changed rules only after another change of the schema.
CREATE TABLE reread (x INTEGER) STRICT;
DROP TABLE reread;
