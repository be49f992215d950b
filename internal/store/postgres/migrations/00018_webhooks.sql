-- Webhooks: the addresses that an app's events are sent to, and how far each was served. Package
-- rewards has the rules.

-- +goose Up
-- types: a sum, as in events; 0: all. disabled: why; empty: enabled. The secrets are encrypted.
-- Each event up to the sequence cursor was delivered, or has a row in webhook_deliveries.
CREATE TABLE webhook_endpoints (
    app_id        bytea NOT NULL REFERENCES apps (id),
    id            bytea NOT NULL CHECK (length(id) = 16),
    url           text COLLATE "C" NOT NULL CHECK (url <> ''),
    types         bigint NOT NULL CHECK (types >= 0),
    description   text COLLATE "C" NOT NULL,
    disabled      text COLLATE "C" NOT NULL DEFAULT '',
    secret        bytea NOT NULL CHECK (length(secret) > 0),
    old_secret    bytea NOT NULL DEFAULT ''::bytea,
    old_until     bigint NOT NULL DEFAULT 0,
    cursor        bigint NOT NULL CHECK (cursor >= 0),
    failing_since bigint NOT NULL DEFAULT 0,
    version       bigint NOT NULL DEFAULT 1 CHECK (version > 0),
    PRIMARY KEY (app_id, id)
);

-- Failures, tests, and the last of what was delivered. A test has a negative sequence.
-- status: 1 pending, 2 delivered, 3 failed. next_at 0: as soon as the endpoint is enabled.
CREATE TABLE webhook_deliveries (
    app_id      bytea NOT NULL,
    endpoint_id bytea NOT NULL,
    sequence    bigint NOT NULL CHECK (sequence <> 0),
    event_id    bytea NOT NULL CHECK (length(event_id) = 16),
    type        text COLLATE "C" NOT NULL CHECK (type <> ''),
    number      bigint NOT NULL,
    status      bigint NOT NULL CHECK (status BETWEEN 1 AND 3),
    attempts    bigint NOT NULL CHECK (attempts >= 0),
    status_code bigint NOT NULL,
    error       text COLLATE "C" NOT NULL,
    answer      text COLLATE "C" NOT NULL,
    tried_at    bigint NOT NULL,
    next_at     bigint NOT NULL CHECK (next_at = 0 OR status = 1),
    body        bytea NOT NULL,
    PRIMARY KEY (app_id, endpoint_id, sequence)
);
CREATE INDEX webhook_deliveries_listed ON webhook_deliveries (app_id, endpoint_id, status, number, sequence);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (app_id, endpoint_id, next_at, sequence) WHERE status = 1;
CREATE INDEX webhook_deliveries_tests ON webhook_deliveries (app_id, endpoint_id, sequence) WHERE status = 1 AND sequence < 0;

-- Which process sends to the endpoints of which shard, and the processes that share them.
CREATE TABLE webhook_shards (
    number bigint NOT NULL PRIMARY KEY,
    holder text COLLATE "C" NOT NULL DEFAULT '',
    epoch  bigint NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    until  bigint NOT NULL DEFAULT 0
);
INSERT INTO webhook_shards (number) SELECT generate_series(0, 63);
CREATE TABLE webhook_workers (
    holder text COLLATE "C" NOT NULL PRIMARY KEY CHECK (holder <> ''),
    until  bigint NOT NULL
);

CREATE VIEW readable.webhook_endpoints AS SELECT readable.id(t.app_id) AS app_id, readable.id(t.id) AS id, t.url,
    t.types, t.description, t.disabled, '(secret)' AS secret, readable.moment(t.old_until) AS old_until, t.cursor,
    readable.moment(t.failing_since) AS failing_since, t.version, readable.created(t.id) AS created_at
    FROM webhook_endpoints t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.webhook_deliveries AS SELECT readable.id(t.app_id) AS app_id,
    readable.id(t.endpoint_id) AS endpoint_id, t.sequence, readable.id(t.event_id) AS event_id, t.type,
    readable.moment(t.number) AS number, (ARRAY['pending', 'delivered', 'failed'])[t.status] AS status, t.attempts,
    t.status_code, t.error, t.answer, readable.moment(t.tried_at) AS tried_at, readable.moment(t.next_at) AS next_at,
    length(t.body) AS body_bytes FROM webhook_deliveries t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.webhook_shards AS SELECT t.number, t.holder, t.epoch, readable.moment(t.until) AS until
    FROM webhook_shards t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.webhook_workers AS SELECT t.holder, readable.moment(t.until) AS until
    FROM webhook_workers t CROSS JOIN (VALUES (1)) AS one;
