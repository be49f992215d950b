-- What an app may ask for; 0 is the default.

-- +goose Up
ALTER TABLE apps ADD COLUMN requests_per_second bigint NOT NULL DEFAULT 0
    CHECK (requests_per_second BETWEEN 0 AND 1000000);
ALTER TABLE apps ADD COLUMN concurrent bigint NOT NULL DEFAULT 0 CHECK (concurrent BETWEEN 0 AND 100000);
CREATE OR REPLACE VIEW readable.apps AS SELECT readable.id(t.id) AS id, t.name, t.suspended = 1 AS suspended,
    readable.created(t.id) AS created_at, t.requests_per_second, t.concurrent FROM apps t CROSS JOIN (VALUES (1)) AS one;
