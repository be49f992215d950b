-- Webhooks: the addresses that an app's events are sent to, and how far each was served. Package
-- rewards has the rules.

-- +goose Up
-- types: a sum, as in events; 0: all. disabled: why; empty: enabled. The secrets are encrypted.
-- Each event up to the sequence cursor was delivered, or has a row in webhook_deliveries.
CREATE TABLE webhook_endpoints (
    app_id        BLOB    NOT NULL REFERENCES apps (id),
    id            BLOB    NOT NULL CHECK (length(id) = 16),
    url           TEXT    NOT NULL CHECK (url <> ''),
    types         INTEGER NOT NULL CHECK (types >= 0),
    description   TEXT    NOT NULL,
    disabled      TEXT    NOT NULL DEFAULT '',
    secret        BLOB    NOT NULL CHECK (length(secret) > 0),
    old_secret    BLOB    NOT NULL DEFAULT x'',
    old_until     INTEGER NOT NULL DEFAULT 0,
    cursor        INTEGER NOT NULL CHECK (cursor >= 0),
    failing_since INTEGER NOT NULL DEFAULT 0,
    version       INTEGER NOT NULL DEFAULT 1 CHECK (version > 0),
    PRIMARY KEY (app_id, id)
) STRICT, WITHOUT ROWID;

-- Failures, tests, and the last of what was delivered. A test has a negative sequence.
-- status: 1 pending, 2 delivered, 3 failed. next_at 0: as soon as the endpoint is enabled.
CREATE TABLE webhook_deliveries (
    app_id      BLOB    NOT NULL,
    endpoint_id BLOB    NOT NULL,
    sequence    INTEGER NOT NULL CHECK (sequence <> 0),
    event_id    BLOB    NOT NULL CHECK (length(event_id) = 16),
    type        TEXT    NOT NULL CHECK (type <> ''),
    number      INTEGER NOT NULL,
    status      INTEGER NOT NULL CHECK (status BETWEEN 1 AND 3),
    attempts    INTEGER NOT NULL CHECK (attempts >= 0),
    status_code INTEGER NOT NULL,
    error       TEXT    NOT NULL,
    answer      TEXT    NOT NULL,
    tried_at    INTEGER NOT NULL,
    next_at     INTEGER NOT NULL CHECK (next_at = 0 OR status = 1),
    body        BLOB    NOT NULL,
    PRIMARY KEY (app_id, endpoint_id, sequence),
    FOREIGN KEY (app_id, endpoint_id) REFERENCES webhook_endpoints (app_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_deliveries_listed ON webhook_deliveries (app_id, endpoint_id, status, number, sequence);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (app_id, endpoint_id, next_at, sequence) WHERE status = 1;
CREATE INDEX webhook_deliveries_tests ON webhook_deliveries (app_id, endpoint_id, sequence) WHERE status = 1 AND sequence < 0;

-- Which process sends to the endpoints of which shard, and the processes that share them.
CREATE TABLE webhook_shards (
    number INTEGER NOT NULL PRIMARY KEY,
    holder TEXT    NOT NULL DEFAULT '',
    epoch  INTEGER NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    until  INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO webhook_shards (number)
    WITH RECURSIVE n (number) AS (SELECT 0 UNION ALL SELECT number + 1 FROM n WHERE number < 63) SELECT number FROM n;
CREATE TABLE webhook_workers (
    holder TEXT    NOT NULL PRIMARY KEY CHECK (holder <> ''),
    until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
