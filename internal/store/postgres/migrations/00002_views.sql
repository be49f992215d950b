-- What an operator reads in psql: each table has a view in the schema "readable" with
-- ids as UUIDs, amounts in dollars, quantities in shares and times with their zone.
-- The join with one row makes that nothing can be written through them.

-- +goose Up
CREATE SCHEMA readable;

-- +goose StatementBegin
CREATE FUNCTION readable.id(bytea) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ SELECT encode($1, 'hex')::uuid $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION readable.usd(bigint) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ SELECT round($1::numeric / 1000000, 6) $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION readable.nano(bigint) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ SELECT round($1::numeric / 1000000000, 9) $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION readable.moment(bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ SELECT CASE WHEN $1 <> 0 THEN 'epoch'::timestamptz + $1 * interval '1 microsecond' END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION readable.created(bytea) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$ SELECT 'epoch'::timestamptz + ('x' || encode(substring($1 FOR 6), 'hex'))::bit(48)::bigint * interval '1 millisecond' $$;
-- +goose StatementEnd

CREATE VIEW readable.settings AS SELECT t.name,
    CASE WHEN t.name = 'cursor_key' THEN '(secret)' ELSE t.value END AS value
    FROM settings t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.apps AS SELECT readable.id(t.id) AS id, t.name, t.suspended = 1 AS suspended,
    readable.created(t.id) AS created_at FROM apps t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.keys AS SELECT readable.id(t.app_id) AS app_id, readable.id(t.id) AS id, t.label, t.hint,
    readable.created(t.id) AS created_at, readable.moment(t.expires_at) AS expires_at,
    readable.moment(t.revoked_at) AS revoked_at FROM keys t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.users AS SELECT readable.id(t.app_id) AS app_id, readable.id(t.id) AS id, t.email,
    t.external_id, readable.created(t.id) AS created_at FROM users t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.assets AS SELECT t.id, t.broker_id, t.symbol, t.name, t.enabled = 1 AS enabled,
    t.gone = 1 AS gone, t.used = 1 AS used, readable.moment(t.doubt_since) AS doubt_since,
    readable.nano(t.doubt_price) AS doubt_price FROM assets t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.prices AS SELECT a.symbol, readable.nano(t.price) AS price,
    readable.moment(t.traded_at) AS traded_at, readable.moment(t.confirmed_at) AS confirmed_at,
    readable.nano(t.accepted) AS accepted FROM prices t JOIN assets a ON a.id = t.asset_id;
CREATE VIEW readable.rewards AS SELECT readable.id(t.app_id) AS app_id, readable.id(t.id) AS id,
    readable.id(t.user_id) AS user_id, t.idempotency_key, encode(t.fingerprint, 'hex') AS fingerprint,
    readable.usd(t.amount) AS amount, t.asset_id, t.symbol, t.source, t.metadata,
    (ARRAY['recorded', 'executing', 'executed', 'failed'])[t.status] AS status, t.waiting = 1 AS waiting,
    readable.usd(t.booked) AS booked, readable.created(t.id) AS created_at,
    readable.moment(t.executed_at) AS executed_at, t.failure_reason
    FROM rewards t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.orders AS SELECT readable.id(t.id) AS id, t.client_order_id, t.asset_id, t.symbol,
    readable.usd(t.notional) AS notional, readable.usd(t.house) AS house,
    encode(t.members_hash, 'hex') AS members_hash,
    (ARRAY['planned', 'submitted', 'open', 'quarantined', 'resolved', 'settled', 'refused'])[t.state] AS state,
    t.attempts, readable.created(t.id) AS created_at, readable.moment(t.first_attempt_at) AS first_attempt_at,
    readable.moment(t.next_attempt_at) AS next_attempt_at, readable.moment(t.deadline) AS deadline,
    t.broker_id, t.broker_status, readable.nano(t.filled_qty) AS filled_qty,
    readable.nano(t.filled_avg_price) AS filled_avg_price, readable.moment(t.filled_at) AS filled_at,
    readable.moment(t.terminal_since) AS terminal_since, t.reason, readable.nano(t.house_shares) AS house_shares,
    readable.moment(t.settled_at) AS settled_at FROM orders t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.order_rewards AS SELECT readable.id(t.order_id) AS order_id, t.position,
    readable.id(t.app_id) AS app_id, readable.id(t.reward_id) AS reward_id, readable.usd(t.amount) AS amount
    FROM order_rewards t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.order_resolutions AS SELECT readable.id(t.order_id) AS order_id,
    readable.nano(t.filled_qty) AS filled_qty, readable.nano(t.price) AS price, t.reason,
    readable.moment(t.at) AS at FROM order_resolutions t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.allocations AS SELECT readable.id(t.app_id) AS app_id, readable.id(t.reward_id) AS reward_id,
    readable.id(t.order_id) AS order_id, readable.usd(t.amount) AS amount, readable.nano(t.shares) AS shares
    FROM allocations t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.holdings AS SELECT readable.id(t.app_id) AS app_id, readable.id(t.user_id) AS user_id,
    a.symbol, readable.nano(t.quantity) AS quantity, readable.usd(t.cost_basis) AS cost_basis
    FROM holdings t JOIN assets a ON a.id = t.asset_id;
CREATE VIEW readable.spending AS SELECT (readable.moment(t.day) AT TIME ZONE 'UTC')::date AS day,
    readable.usd(t.notional) AS notional, readable.usd(t.house) AS house
    FROM spending t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.lease AS SELECT t.holder, t.epoch, readable.moment(t.until) AS until
    FROM lease t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.alarms AS SELECT t.name, t.message, readable.moment(t.since) AS since
    FROM alarms t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.broker_conflicts AS SELECT t.client_order_id, t.symbol,
    readable.nano(t.filled_qty) AS filled_qty, t.detail, readable.moment(t.found_at) AS found_at,
    readable.moment(t.acknowledged_at) AS acknowledged_at, t.reason
    FROM broker_conflicts t CROSS JOIN (VALUES (1)) AS one;
