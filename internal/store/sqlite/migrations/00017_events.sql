-- The log of events: a row for each booked order and app, and a row for each other event. Package
-- rewards says how the events of a row follow from it.

-- +goose Up
CREATE TABLE events (
    app_id    BLOB    NOT NULL,
    last      INTEGER NOT NULL CHECK (last > 0), -- sequence of the row's last event
    types     INTEGER NOT NULL CHECK (types > 0), -- of its events: a sum of 1 reward.executed, 2 reward.failed, ...
    subject   BLOB    NOT NULL, -- the order, reward or reversal, or the action's id as text
    positions BLOB    NOT NULL, -- of the awards in the order, as runs: see AppendPositions; empty: no order
    at        INTEGER NOT NULL, -- 0: when the reward was recorded
    PRIMARY KEY (app_id, last)
) STRICT, WITHOUT ROWID;
-- The rows with other events than executed awards, which are few. The sum keeps planners from the primary key.
CREATE INDEX events_other ON events (app_id, (last + 0)) WHERE types <> 1;

-- The newest sequence. A transaction that adds events changes this row, so that sequences are in the order of the
-- commits. Orders up to past_end were booked before the log, except late_orders. Those up to
-- past_order are in the log, up to the sequence past_last.
CREATE TABLE event_counter (
    only       INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
    last       INTEGER NOT NULL,
    past_last  INTEGER NOT NULL DEFAULT 0,
    past_order BLOB    NOT NULL DEFAULT x'',
    past_end   BLOB    NOT NULL DEFAULT x''
) STRICT;
CREATE TABLE late_orders (
    order_id BLOB NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
INSERT INTO late_orders (order_id) SELECT id FROM orders WHERE state < 6;

-- Rewards that an operator has canceled; at is 0 because the time is not known.
INSERT INTO events (app_id, last, types, subject, positions, at)
    SELECT app_id, row_number() OVER (ORDER BY id), 2, id, x'', 0
    FROM rewards WHERE failure_reason <> '' AND failure_reason LIKE 'canceled: %';
INSERT INTO event_counter ("only", last, past_last, past_end) VALUES (1, 1099511627776,
    (SELECT count(*) FROM events), coalesce((SELECT id FROM orders ORDER BY id DESC LIMIT 1), x''));
