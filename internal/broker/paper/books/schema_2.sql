-- Brings books of version 1 to version 2.
ALTER TABLE orders ADD COLUMN hidden_until INTEGER NOT NULL DEFAULT 0;
ALTER TABLE orders ADD COLUMN fate TEXT NOT NULL DEFAULT '';

CREATE TABLE test_clock (
  only  INTEGER PRIMARY KEY CHECK (only = 1),
  at    INTEGER NOT NULL, -- what it showed
  since INTEGER NOT NULL, -- the real time then
  pace  INTEGER NOT NULL CHECK (pace >= 0)
) STRICT;

PRAGMA user_version = 2;
