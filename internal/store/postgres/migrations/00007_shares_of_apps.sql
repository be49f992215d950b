-- What waits is found by stock and app, so that every app gets its turn in an order. What
-- the house added to small pools is kept by app. An order that the broker refuses again
-- and again counts the sessions.

-- +goose Up
ALTER TABLE orders ADD COLUMN refused_sessions bigint NOT NULL DEFAULT 0 CHECK (refused_sessions >= 0);
ALTER TABLE orders ADD COLUMN refused_until bigint NOT NULL DEFAULT 0;
DROP INDEX open_rewards_waiting;
CREATE INDEX open_rewards_waiting ON open_rewards (asset_id, app_id, id) WHERE waiting = 1;

-- What the house added to pools under the broker's minimum on a UTC day (microseconds of
-- its start), for the limit of an app.
CREATE TABLE house_topups (
    day    bigint NOT NULL,
    app_id bytea  NOT NULL REFERENCES apps (id),
    amount bigint NOT NULL CHECK (amount > 0),
    PRIMARY KEY (day, app_id)
);

CREATE OR REPLACE VIEW readable.orders AS SELECT readable.id(t.id) AS id, t.client_order_id, t.asset_id, t.symbol,
    readable.usd(t.notional) AS notional, readable.usd(t.house) AS house,
    encode(t.members_hash, 'hex') AS members_hash,
    (ARRAY['planned', 'submitted', 'open', 'quarantined', 'resolved', 'settled', 'refused'])[t.state] AS state,
    t.attempts, readable.created(t.id) AS created_at, readable.moment(t.first_attempt_at) AS first_attempt_at,
    readable.moment(t.next_attempt_at) AS next_attempt_at, readable.moment(t.deadline) AS deadline,
    t.broker_id, t.broker_status, readable.nano(t.filled_qty) AS filled_qty,
    readable.nano(t.filled_avg_price) AS filled_avg_price, readable.moment(t.filled_at) AS filled_at,
    readable.moment(t.terminal_since) AS terminal_since, t.reason, readable.nano(t.house_shares) AS house_shares,
    readable.moment(t.settled_at) AS settled_at, t.refused_sessions,
    readable.moment(t.refused_until) AS refused_until FROM orders t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.house_topups AS SELECT (readable.moment(t.day) AT TIME ZONE 'UTC')::date AS day,
    readable.id(t.app_id) AS app_id, readable.usd(t.amount) AS amount
    FROM house_topups t CROSS JOIN (VALUES (1)) AS one;
