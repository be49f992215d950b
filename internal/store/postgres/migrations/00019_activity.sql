-- An allocation has its user, when it was booked, and what it added to the cost basis of the user's
-- holding: 0 until the part that completes its reward, which adds the whole amount. So a user's
-- activity is read by a key, newest first. Parts that changed no holding are not in it.
-- The timeline of a reward is read from the orders that carried it.

-- +goose Up
SET LOCAL statement_timeout = 0; -- all allocations are written once
ALTER TABLE allocations ADD COLUMN user_id bytea NOT NULL DEFAULT ''::bytea;
ALTER TABLE allocations ADD COLUMN at bigint NOT NULL DEFAULT 0;
ALTER TABLE allocations ADD COLUMN cost bigint NOT NULL DEFAULT 0;
UPDATE allocations a SET user_id = r.user_id, at = o.settled_at, cost = CASE WHEN r.status = 3 AND NOT EXISTS (
        SELECT 1 FROM allocations later WHERE later.app_id = a.app_id AND later.reward_id = a.reward_id
        AND later.order_id > a.order_id) THEN r.amount ELSE 0 END
    FROM rewards r, orders o WHERE r.app_id = a.app_id AND r.id = a.reward_id AND o.id = a.order_id;
CREATE INDEX allocations_by_user ON allocations (app_id, user_id, at, reward_id, order_id)
    WHERE shares > 0 OR cost > 0;
CREATE INDEX reversals_by_booking ON reversals (app_id, user_id, completed_at, id) WHERE completed_at > 0;
CREATE INDEX order_rewards_by_reward ON order_rewards (app_id, reward_id);
ALTER TABLE orders ADD COLUMN answered_at bigint NOT NULL DEFAULT 0; -- when the broker first showed it

-- When the leader ordered nothing of a stock, or of any stock (asset_id 0), and why: 1 paused, 2 conflict, 3 broker,
-- 4 market closed, 5 announcements, 6 price in doubt, 7 quarantine, 8 corporate action, 9 small pool, 10 the house's
-- limit, 11 daily limit, 12 quantity. until is 0 while it goes on; expected is when it will end, in the broker's time.
CREATE TABLE standstills (
    asset_id bigint NOT NULL CHECK (asset_id >= 0),
    since    bigint NOT NULL,
    until    bigint NOT NULL DEFAULT 0 CHECK (until = 0 OR until >= since),
    cause    bigint NOT NULL CHECK (cause BETWEEN 1 AND 12),
    expected bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (asset_id, since)
);
CREATE UNIQUE INDEX standstills_open ON standstills (asset_id) WHERE until = 0;
CREATE OR REPLACE VIEW readable.allocations AS SELECT readable.id(t.app_id) AS app_id,
    readable.id(t.reward_id) AS reward_id, readable.id(t.order_id) AS order_id, readable.usd(t.amount) AS amount,
    readable.nano(t.shares) AS shares, readable.id(t.user_id) AS user_id, readable.moment(t.at) AS at,
    readable.usd(t.cost) AS cost FROM allocations t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.standstills AS SELECT coalesce(a.symbol, '') AS symbol, readable.moment(t.since) AS since,
    readable.moment(t.until) AS until, (ARRAY['paused', 'conflict', 'broker', 'market closed', 'announcements',
    'price in doubt', 'quarantine', 'corporate action', 'small pool', 'house limit', 'daily limit', 'quantity'])[t.cause]
    AS cause, readable.moment(t.expected) AS expected
    FROM standstills t LEFT JOIN assets a ON a.id = t.asset_id;
