-- The books of the paper brokerage. Dollars are millionths, shares and prices
-- billionths, times microseconds since 1970 in UTC.

-- The one account. "held" is the sum of the dollars that open orders hold, so that
-- cash - held is the buying power.
CREATE TABLE account (
  only         INTEGER PRIMARY KEY CHECK (only = 1),
  id           TEXT    NOT NULL,
  number       TEXT    NOT NULL,
  seed         INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  initial_cash INTEGER NOT NULL,
  cash         INTEGER NOT NULL CHECK (cash >= 0),
  held         INTEGER NOT NULL CHECK (held >= 0 AND held <= cash)
) STRICT;

CREATE TABLE orders (
  seq              INTEGER PRIMARY KEY, -- in order of acceptance
  id               TEXT    NOT NULL UNIQUE,
  client_order_id  TEXT    NOT NULL UNIQUE,
  symbol           TEXT    NOT NULL,
  side             TEXT    NOT NULL CHECK (side IN ('buy', 'sell')),
  notional         INTEGER CHECK (notional > 0),
  qty              INTEGER CHECK (qty > 0),
  state            TEXT    NOT NULL CHECK (state IN ('open', 'filled', 'canceled', 'expired', 'rejected')),
  hold             INTEGER NOT NULL CHECK (hold >= 0),     -- dollars held while open
  hold_qty         INTEGER NOT NULL CHECK (hold_qty >= 0), -- shares held while open
  submitted_at     INTEGER NOT NULL,
  routed_at        INTEGER NOT NULL,   -- when the market gets it: at once, or at the next open
  expires_at       INTEGER,            -- the close of that session; null when it has none
  due_at           INTEGER,            -- when it fills or expires; null when it is not open
  updated_at       INTEGER NOT NULL,
  ended_at         INTEGER,
  filled_at        INTEGER,
  filled_qty       INTEGER NOT NULL DEFAULT 0 CHECK (filled_qty >= 0),
  filled_avg_price INTEGER NOT NULL DEFAULT 0 CHECK (filled_avg_price >= 0),
  filled_value     INTEGER NOT NULL DEFAULT 0 CHECK (filled_value >= 0), -- dollars moved
  hidden_until     INTEGER NOT NULL DEFAULT 0,  -- neither listed nor found before
  fate             TEXT    NOT NULL DEFAULT '', -- the fault that it runs into; see fate.go
  CHECK ((notional IS NULL) <> (qty IS NULL)),
  CHECK ((state = 'open') = (due_at IS NOT NULL)),
  CHECK ((state = 'open') = (ended_at IS NULL)),
  CHECK (state <> 'filled' OR filled_qty > 0)
) STRICT;

CREATE INDEX orders_submitted ON orders (submitted_at);
CREATE INDEX orders_open ON orders (submitted_at) WHERE due_at IS NOT NULL;
CREATE INDEX orders_due ON orders (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE positions (
  symbol TEXT    PRIMARY KEY,
  qty    INTEGER NOT NULL CHECK (qty > 0),
  cost   INTEGER NOT NULL CHECK (cost >= 0)
) STRICT, WITHOUT ROWID;

-- The clock that a test has set; without a row the real time counts.
CREATE TABLE test_clock (
  only  INTEGER PRIMARY KEY CHECK (only = 1),
  at    INTEGER NOT NULL, -- what it showed
  since INTEGER NOT NULL, -- the real time then
  pace  INTEGER NOT NULL CHECK (pace >= 0)
) STRICT;

PRAGMA user_version = 2;
