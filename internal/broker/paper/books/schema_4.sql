-- Brings books of version 3 to version 4.

-- An action passes through stages, each at its due time. "terms" is what really happens, as
-- it was announced; "body" is what is listed, unless a fault in "fate" falsifies it (one on
-- each line). "counted" are the shares that were held when it took effect. old_rate and
-- new_rate change the price.
ALTER TABLE actions ADD COLUMN asset_id TEXT NOT NULL DEFAULT ''; -- empty: that of the symbol
ALTER TABLE actions ADD COLUMN terms TEXT NOT NULL DEFAULT '';
ALTER TABLE actions ADD COLUMN fate TEXT NOT NULL DEFAULT '';
ALTER TABLE actions ADD COLUMN stage TEXT NOT NULL DEFAULT '';
ALTER TABLE actions ADD COLUMN due_at INTEGER; -- null when nothing is left to do
ALTER TABLE actions ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE actions ADD COLUMN posted_at INTEGER NOT NULL DEFAULT 0;
UPDATE actions SET terms = body;
UPDATE actions SET stage = 'happen', due_at = happens_at WHERE state = 'announced';
UPDATE actions SET stage = 'count', due_at = happens_at - 23400000000 -- from 02:30 to 20:00
  WHERE state = 'announced' AND type = 'cash_dividend';
DROP INDEX actions_due;
CREATE INDEX actions_due ON actions (due_at) WHERE due_at IS NOT NULL;

ALTER TABLE orders ADD COLUMN asset_id TEXT NOT NULL DEFAULT ''; -- empty: that of the symbol

-- Stocks that actions brought to the market, renamed or removed.
CREATE TABLE listings (
  asset_id         TEXT    PRIMARY KEY,
  symbol           TEXT    NOT NULL UNIQUE,
  model            TEXT    NOT NULL, -- the first symbol, whose price model it follows
  name             TEXT    NOT NULL,
  exchange         TEXT    NOT NULL,
  price            INTEGER NOT NULL CHECK (price > 0), -- the model's reference
  not_tradable     INTEGER NOT NULL,
  not_fractionable INTEGER NOT NULL,
  gone             INTEGER NOT NULL,
  listed_at        INTEGER -- null: before all prices
) STRICT, WITHOUT ROWID;

-- Prices that were moved by hand, multiplied by old_rate and divided by new_rate.
CREATE TABLE price_moves (
  seq      INTEGER PRIMARY KEY,
  asset_id TEXT    NOT NULL,
  at       INTEGER NOT NULL,
  old_rate INTEGER NOT NULL CHECK (old_rate > 0),
  new_rate INTEGER NOT NULL CHECK (new_rate > 0)
) STRICT;

-- Times for which the market was closed by hand.
CREATE TABLE closures (
  seq       INTEGER PRIMARY KEY,
  closed_at INTEGER NOT NULL,
  opens_at  INTEGER NOT NULL CHECK (opens_at >= closed_at)
) STRICT;

-- Counts what the exchange must follow, so that another process notices it.
ALTER TABLE account ADD COLUMN market_revision INTEGER NOT NULL DEFAULT 0;
CREATE TRIGGER action_posted AFTER INSERT ON actions BEGIN UPDATE account SET market_revision = market_revision + 1; END;
CREATE TRIGGER action_changed AFTER UPDATE ON actions BEGIN UPDATE account SET market_revision = market_revision + 1; END;
CREATE TRIGGER listing_new AFTER INSERT ON listings BEGIN UPDATE account SET market_revision = market_revision + 1; END;
CREATE TRIGGER listing_changed AFTER UPDATE ON listings BEGIN UPDATE account SET market_revision = market_revision + 1; END;
CREATE TRIGGER price_moved AFTER INSERT ON price_moves BEGIN UPDATE account SET market_revision = market_revision + 1; END;
CREATE TRIGGER market_closed AFTER INSERT ON closures BEGIN UPDATE account SET market_revision = market_revision + 1; END;
CREATE TRIGGER market_opened AFTER UPDATE ON closures BEGIN UPDATE account SET market_revision = market_revision + 1; END;

PRAGMA user_version = 4;
