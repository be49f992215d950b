-- The log of events: a row for each booked order and app, and a row for each other event. Package
-- rewards says how the events of a row follow from it.

-- +goose Up
CREATE TABLE events (
    app_id    bytea  NOT NULL,
    last      bigint NOT NULL CHECK (last > 0), -- sequence of the row's last event
    types     bigint NOT NULL CHECK (types > 0), -- of its events: a sum of 1 reward.executed, 2 reward.failed, ...
    subject   bytea  NOT NULL, -- the order, reward or reversal, or the action's id as text
    positions bytea  NOT NULL, -- of the awards in the order, as runs: see AppendPositions; empty: no order
    at        bigint NOT NULL, -- 0: when the reward was recorded
    PRIMARY KEY (app_id, last)
);
-- The rows with other events than executed awards, which are few. The sum keeps planners from the primary key.
CREATE INDEX events_other ON events (app_id, (last + 0)) WHERE types <> 1;

-- The newest sequence. A transaction that adds events changes this row, so that sequences are in the order of the
-- commits. Orders up to past_end were booked before the log, except late_orders. Those up to
-- past_order are in the log, up to the sequence past_last.
CREATE TABLE event_counter (
    "only"     bigint NOT NULL PRIMARY KEY CHECK ("only" = 1),
    last       bigint NOT NULL,
    past_last  bigint NOT NULL DEFAULT 0,
    past_order bytea  NOT NULL DEFAULT ''::bytea,
    past_end   bytea  NOT NULL DEFAULT ''::bytea
);
CREATE TABLE late_orders (
    order_id bytea NOT NULL PRIMARY KEY
);
INSERT INTO late_orders (order_id) SELECT id FROM orders WHERE state < 6;

-- Rewards that an operator has canceled; at is 0 because the time is not known.
INSERT INTO events (app_id, last, types, subject, positions, at)
    SELECT app_id, row_number() OVER (ORDER BY id), 2, id, ''::bytea, 0
    FROM rewards WHERE failure_reason <> '' AND failure_reason LIKE 'canceled: %';
INSERT INTO event_counter ("only", last, past_last, past_end) VALUES (1, 1099511627776,
    (SELECT count(*) FROM events), coalesce((SELECT id FROM orders ORDER BY id DESC LIMIT 1), ''::bytea));

CREATE VIEW readable.events AS SELECT readable.id(t.app_id) AS app_id, t.last,
    array_remove(ARRAY[
        CASE WHEN t.types & 1 > 0 THEN 'reward.executed' END, CASE WHEN t.types & 2 > 0 THEN 'reward.failed' END,
        CASE WHEN t.types & 4 > 0 THEN 'reversal.completed' END,
        CASE WHEN t.types & 8 > 0 THEN 'corporate_action.announced' END,
        CASE WHEN t.types & 16 > 0 THEN 'corporate_action.applied' END,
        CASE WHEN t.types & 32 > 0 THEN 'corporate_action.held' END,
        CASE WHEN t.types & 64 > 0 THEN 'corporate_action.withdrawn' END,
        CASE WHEN t.types & 128 > 0 THEN 'corporate_action.undone' END], NULL) AS types,
    CASE WHEN t.types < 8 THEN readable.id(t.subject)::text ELSE convert_from(t.subject, 'UTF8') END AS subject,
    encode(t.positions, 'hex') AS positions, readable.moment(t.at) AS at FROM events t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.event_counter AS SELECT t.last, t.past_last, encode(t.past_order, 'hex') AS past_order,
    encode(t.past_end, 'hex') AS past_end FROM event_counter t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.late_orders AS SELECT readable.id(t.order_id) AS order_id
    FROM late_orders t CROSS JOIN (VALUES (1)) AS one;
