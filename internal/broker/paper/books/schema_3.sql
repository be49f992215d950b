-- Brings books of version 2 to version 3.

-- Corporate actions. "symbol" is the stock whose units they change, "body" the
-- announcement as the market data API lists it. Rates are billionths, 0 when the
-- action has no ratio. From dark_from until happens_at nothing is traded.
CREATE TABLE actions (
  seq          INTEGER PRIMARY KEY, -- in order of announcement
  id           TEXT    NOT NULL UNIQUE,
  type         TEXT    NOT NULL,
  symbol       TEXT    NOT NULL,
  body         TEXT    NOT NULL,
  process_date TEXT    NOT NULL,
  ex_date      TEXT    NOT NULL,
  old_rate     INTEGER NOT NULL CHECK (old_rate >= 0),
  new_rate     INTEGER NOT NULL CHECK (new_rate >= 0),
  dark_from    INTEGER NOT NULL CHECK (dark_from <= happens_at),
  happens_at   INTEGER NOT NULL,
  state        TEXT    NOT NULL CHECK (state IN ('announced', 'happened', 'withdrawn'))
) STRICT;
CREATE INDEX actions_due ON actions (happens_at) WHERE state = 'announced';

-- What changed cash and positions, since version 3. An id begins with its moment.
CREATE TABLE activities (
  id   TEXT    PRIMARY KEY,
  type TEXT    NOT NULL,
  at   INTEGER NOT NULL,
  body TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 3;
