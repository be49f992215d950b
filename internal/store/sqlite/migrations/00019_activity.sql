-- An allocation has its user, when it was booked, and what it added to the cost basis of the user's
-- holding: 0 until the part that completes its reward, which adds the whole amount. So a user's
-- activity is read by a key, newest first. Parts that changed no holding are not in it.
-- The timeline of a reward is read from the orders that carried it.

-- +goose Up
ALTER TABLE allocations ADD COLUMN user_id BLOB NOT NULL DEFAULT x'';
ALTER TABLE allocations ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE allocations ADD COLUMN cost INTEGER NOT NULL DEFAULT 0;
UPDATE allocations AS a SET (user_id, cost) = (SELECT r.user_id, CASE WHEN r.status = 3 AND NOT EXISTS (
        SELECT 1 FROM allocations later WHERE later.app_id = a.app_id AND later.reward_id = a.reward_id
        AND later.order_id > a.order_id) THEN r.amount ELSE 0 END
        FROM rewards r WHERE r.app_id = a.app_id AND r.id = a.reward_id),
    at = (SELECT o.settled_at FROM orders o WHERE o.id = a.order_id);
CREATE INDEX allocations_by_user ON allocations (app_id, user_id, at, reward_id, order_id)
    WHERE shares > 0 OR cost > 0;
CREATE INDEX reversals_by_booking ON reversals (app_id, user_id, completed_at, id) WHERE completed_at > 0;
CREATE INDEX order_rewards_by_reward ON order_rewards (app_id, reward_id);
ALTER TABLE orders ADD COLUMN answered_at INTEGER NOT NULL DEFAULT 0; -- when the broker first showed it

-- When the leader ordered nothing of a stock, or of any stock (asset_id 0), and why: 1 paused, 2 conflict, 3 broker,
-- 4 market closed, 5 announcements, 6 price in doubt, 7 quarantine, 8 corporate action, 9 small pool, 10 the house's
-- limit, 11 daily limit, 12 quantity. until is 0 while it goes on; expected is when it will end, in the broker's time.
CREATE TABLE standstills (
    asset_id INTEGER NOT NULL CHECK (asset_id >= 0),
    since    INTEGER NOT NULL,
    until    INTEGER NOT NULL DEFAULT 0 CHECK (until = 0 OR until >= since),
    cause    INTEGER NOT NULL CHECK (cause BETWEEN 1 AND 12),
    expected INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (asset_id, since)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX standstills_open ON standstills (asset_id) WHERE until = 0;
