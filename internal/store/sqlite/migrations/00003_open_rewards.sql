-- What is not final is told apart: it is little, while what is executed grows for ever
-- and stands in allocations anyhow. In PostgreSQL open_rewards is a table.

-- +goose Up
DROP INDEX rewards_by_status;
DROP INDEX rewards_waiting;
CREATE INDEX rewards_waiting ON rewards (asset_id, id, status) WHERE waiting = 1;
CREATE INDEX rewards_open ON rewards (app_id, status, id) WHERE status < 3;
CREATE INDEX rewards_failed ON rewards (app_id, id) WHERE failure_reason <> '';
CREATE VIEW open_rewards AS SELECT app_id, id, asset_id, status, waiting, amount - booked AS pending
    FROM rewards WHERE status < 3;
