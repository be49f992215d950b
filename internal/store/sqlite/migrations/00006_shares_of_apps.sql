-- What waits is found by stock and app, so that every app gets its turn in an order. What
-- the house added to small pools is kept by app. An order that the broker refuses again
-- and again counts the sessions.

-- +goose Up
ALTER TABLE orders ADD COLUMN refused_sessions INTEGER NOT NULL DEFAULT 0 CHECK (refused_sessions >= 0);
ALTER TABLE orders ADD COLUMN refused_until INTEGER NOT NULL DEFAULT 0;
DROP INDEX rewards_waiting;
CREATE INDEX rewards_waiting ON rewards (asset_id, app_id, id, status) WHERE waiting = 1;

-- What the house added to pools under the broker's minimum on a UTC day (microseconds of
-- its start), for the limit of an app.
CREATE TABLE house_topups (
    day    INTEGER NOT NULL,
    app_id BLOB    NOT NULL REFERENCES apps (id),
    amount INTEGER NOT NULL CHECK (amount > 0),
    PRIMARY KEY (day, app_id)
) STRICT, WITHOUT ROWID;
