-- What the broker does not sell any more is told apart from what the operator
-- disabled, so that a sync brings back the one and leaves the other.

-- +goose Up
ALTER TABLE assets ADD COLUMN gone INTEGER NOT NULL DEFAULT 0 CHECK (gone IN (0, 1));
CREATE UNIQUE INDEX assets_by_broker_id ON assets (broker_id) WHERE broker_id <> '';
