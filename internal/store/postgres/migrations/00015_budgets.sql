-- Budgets limit the dollars that clients of an app award in a period. Package rewards has the rules.

-- +goose Up
SET LOCAL statement_timeout = 0; -- all effects are read once
-- per: 1 app, 2 user. period: 1 day, 2 month, 3 total. state: 1 counting, 2 active, 3 removed.
-- The counters have the rewards from the id since on, up to reached, and those after cut.
CREATE TABLE budgets (
    id      bigint NOT NULL PRIMARY KEY CHECK (id > 0),
    app_id  bytea  NOT NULL REFERENCES apps (id),
    name    text COLLATE "C" NOT NULL CHECK (name <> ''),
    per     bigint NOT NULL CHECK (per IN (1, 2)),
    period  bigint NOT NULL CHECK (period BETWEEN 1 AND 3),
    allowed bigint NOT NULL CHECK (allowed >= 0), -- the limit in millionths of a dollar
    state   bigint NOT NULL CHECK (state BETWEEN 1 AND 3),
    since   bytea  NOT NULL CHECK (octet_length(since) = 16),
    reached bytea  NOT NULL CHECK (octet_length(reached) = 16),
    cut     bytea  NOT NULL CHECK (octet_length(cut) = 16)
);
CREATE UNIQUE INDEX budgets_of_app ON budgets (app_id, name, state) WHERE state < 3;

-- What was used of a budget in a period. user_id is empty for a budget per app; period_start is 0
-- for a total. Free space in each page lets an update stay in it.
CREATE TABLE budget_use (
    budget       bigint NOT NULL,
    period_start bigint NOT NULL,
    user_id      bytea  NOT NULL,
    used         bigint NOT NULL,
    PRIMARY KEY (budget, period_start, user_id)
) WITH (fillfactor = 75);

-- Whether the reward counts for budgets: 0 for what the cash of a corporate action became. A rule
-- for it would read every reward now.
ALTER TABLE rewards ADD COLUMN counted bigint NOT NULL DEFAULT 1;
UPDATE rewards SET counted = 0 WHERE (app_id, id) IN (SELECT app_id, reward_id FROM effects WHERE reward_id <> '');

CREATE OR REPLACE VIEW readable.rewards AS SELECT readable.id(t.app_id) AS app_id, readable.id(t.id) AS id,
    readable.id(t.user_id) AS user_id, t.idempotency_key, encode(t.fingerprint, 'hex') AS fingerprint,
    readable.usd(t.amount) AS amount, t.asset_id, t.symbol, t.source, t.metadata,
    (ARRAY['recorded', 'executing', 'executed', 'failed'])[t.status] AS status, t.waiting = 1 AS waiting,
    readable.usd(t.booked) AS booked, readable.created(t.id) AS created_at,
    readable.moment(t.executed_at) AS executed_at, t.failure_reason, t.counted = 1 AS counted
    FROM rewards t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.budgets AS SELECT t.id, readable.id(t.app_id) AS app_id, t.name,
    (ARRAY['app', 'user'])[t.per] AS per, (ARRAY['day', 'month', 'total'])[t.period] AS period,
    readable.usd(t.allowed) AS allowed, (ARRAY['counting', 'active', 'removed'])[t.state] AS state,
    readable.id(t.since) AS since, readable.id(t.reached) AS reached, readable.id(t.cut) AS cut
    FROM budgets t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.budget_use AS SELECT t.budget, readable.moment(t.period_start) AS period_start,
    encode(t.user_id, 'hex') AS user_id, readable.usd(t.used) AS used
    FROM budget_use t CROSS JOIN (VALUES (1)) AS one;
