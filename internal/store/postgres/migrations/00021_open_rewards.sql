-- A reward's row is written when it is recorded and when it is final. Between these, open_rewards has
-- its status, and the statements of package store keep it.

-- +goose Up
SET LOCAL statement_timeout = 0; -- all rewards are read once
LOCK TABLE open_rewards, rewards IN ACCESS EXCLUSIVE MODE; -- in the order of readers, who would else deadlock
DROP TRIGGER open_rewards_insert ON rewards;
DROP TRIGGER open_rewards_update ON rewards;
DROP TRIGGER open_rewards_delete ON rewards;
DROP FUNCTION keep_open_rewards();
CREATE OR REPLACE VIEW readable.rewards AS SELECT readable.id(t.app_id) AS app_id, readable.id(t.id) AS id,
    readable.id(t.user_id) AS user_id, t.idempotency_key, encode(t.fingerprint, 'hex') AS fingerprint,
    readable.usd(t.amount) AS amount, t.asset_id, t.symbol, t.source, t.metadata,
    (ARRAY['recorded', 'executing', 'executed', 'failed'])[CASE t.status WHEN 1 THEN coalesce((SELECT o.status
        FROM open_rewards o WHERE o.app_id = t.app_id AND o.status = 2 AND o.id = t.id), 1) ELSE t.status END] AS status,
    coalesce((SELECT o.waiting = 1 FROM open_rewards o WHERE t.status = 1 AND o.app_id = t.app_id AND o.status IN (1, 2)
        AND o.id = t.id), false) AS waiting,
    readable.usd(t.booked) AS booked, readable.created(t.id) AS created_at,
    readable.moment(t.executed_at) AS executed_at, t.failure_reason, t.counted = 1 AS counted
    FROM rewards t CROSS JOIN (VALUES (1)) AS one;
ALTER TABLE rewards DROP COLUMN waiting; -- and its rules
UPDATE rewards r SET status = 1 FROM open_rewards o WHERE o.status = 2 AND r.app_id = o.app_id AND r.id = o.id;
ALTER TABLE rewards ADD CHECK (status <> 2), ADD CHECK (status > 1 OR booked < amount);
ALTER TABLE open_rewards ADD CHECK (status IN (1, 2)), ADD CHECK (waiting IN (0, 1)), ADD CHECK (pending > 0);
DROP INDEX open_rewards_waiting;
CREATE INDEX open_rewards_waiting ON open_rewards (asset_id, app_id, id) INCLUDE (pending) WHERE waiting = 1;

-- Rewards that open_rewards does not have yet, and how many of each stock and app. Only SQLite has them.
CREATE VIEW arrivals AS SELECT app_id, id, asset_id, status, waiting, pending FROM open_rewards WHERE false;
CREATE VIEW arrived AS SELECT asset_id, app_id, id AS oldest, waiting FROM open_rewards WHERE false;
