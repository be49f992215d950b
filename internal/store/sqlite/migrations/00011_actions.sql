-- Corporate actions as brokers announce them, and what they hold. Rates are decimals
-- as they were written, '' where there is none; dates are "2026-12-01".

-- +goose Up
-- state: 1 announced, 2 held, 3 resumed, 4 withdrawn, 5 passed.
-- hold_from is the broker's time; 0: the action never holds its stock.
CREATE TABLE actions (
    id           TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    asset_id     INTEGER NOT NULL REFERENCES assets (id),
    type         TEXT    NOT NULL CHECK (type <> ''),
    symbol       TEXT    NOT NULL,
    new_symbol   TEXT    NOT NULL,
    old_rate     TEXT    NOT NULL,
    new_rate     TEXT    NOT NULL,
    rate         TEXT    NOT NULL,
    ex_date      TEXT    NOT NULL,
    process_date TEXT    NOT NULL,
    revision     INTEGER NOT NULL CHECK (revision >= 0),
    state        INTEGER NOT NULL CHECK (state BETWEEN 1 AND 5),
    hold_from    INTEGER NOT NULL CHECK (hold_from >= 0),
    first_seen   INTEGER NOT NULL,
    held_at      INTEGER NOT NULL DEFAULT 0,
    resumed_at   INTEGER NOT NULL DEFAULT 0,
    reason       TEXT    NOT NULL DEFAULT '',
    note         TEXT    NOT NULL DEFAULT '',
    CHECK (state <> 2 OR (hold_from > 0 AND held_at > 0)),
    CHECK ((resumed_at > 0) = (reason <> '')),
    CHECK (state <> 3 OR resumed_at > 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX actions_open ON actions (asset_id) WHERE state IN (1, 2) AND hold_from > 0;
CREATE INDEX actions_by_date ON actions (process_date);

-- Each announcement as it came; a revision is a body that differs from the one before.
CREATE TABLE announcements (
    action_id TEXT    NOT NULL REFERENCES actions (id),
    revision  INTEGER NOT NULL CHECK (revision > 0),
    body      TEXT    NOT NULL,
    seen_at   INTEGER NOT NULL,
    PRIMARY KEY (action_id, revision)
) STRICT, WITHOUT ROWID;

-- What the books have of each stock: the running sum of filled_qty of settled orders.
-- differs is the broker's position less that, as last compared; accepted is a
-- difference that an operator has accepted.
CREATE TABLE positions (
    asset_id INTEGER NOT NULL PRIMARY KEY REFERENCES assets (id),
    booked   INTEGER NOT NULL DEFAULT 0 CHECK (booked >= 0),
    differs  INTEGER NOT NULL DEFAULT 0,
    accepted INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO positions (asset_id, booked)
    SELECT asset_id, sum(filled_qty) FROM orders WHERE state = 6 AND filled_qty > 0 GROUP BY asset_id;

-- From when the stock is neither ordered nor valued because of its actions, in the
-- broker's time; 0: there is none. It follows from actions.
ALTER TABLE assets ADD COLUMN hold_from INTEGER NOT NULL DEFAULT 0;
