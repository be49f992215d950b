-- A member whose order bought all of a reward that was in no order before is not changed when the order is booked: rest,
-- shares and completes stay 0, and the reward has these figures. Until the reward is final, nothing is bought. The
-- fingerprint of a new reward takes 17 bytes instead of 33.

-- +goose Up
UPDATE members SET rest = 0 FROM orders o WHERE o.state < 6 AND +o.number > 0
    AND place >= o.number * 1024 AND place < o.number * 1024 + 1024 AND rest = amount;
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'length(fingerprint) = 33', 'length(fingerprint) IN (17, 33)')
    WHERE type = 'table' AND name = 'rewards';
PRAGMA writable_schema = RESET; -- and read the changed text

-- Members with their rewards. rest, shares and completes are what the order did, wherever they are stored. shares has a
-- type, as order_members needs.
DROP VIEW member_rewards;
CREATE VIEW member_rewards AS SELECT m.place, m.amount,
    CASE WHEN m.rest = 0 AND m.completes = 0 AND r.status = 1 THEN m.amount ELSE m.rest END AS rest,
    CAST(CASE WHEN m.rest = 0 AND m.completes = 0 AND r.status = 3 THEN r.shares ELSE m.shares END AS INTEGER) AS shares,
    CASE WHEN m.rest = 0 AND r.status = 3 THEN 1 ELSE m.completes END AS completes,
    m.before, m.reward AS number, r.app_id, r.id AS reward_id, r.user_id, r.amount AS reward_amount, r.status, r.booked,
    r.counted, r.place AS reward_place, r.shares AS reward_shares FROM members m CROSS JOIN rewards r WHERE r.rowid = m.reward;

-- What the audit reads: every member, also of an order or a reward that does not exist.
DROP VIEW all_members;
CREATE VIEW all_members AS
    SELECT coalesce(o.id, x'') AS order_id, m.place % 1024 AS position,
        coalesce(r.app_id, x'') AS app_id, coalesce(r.id, x'') AS reward_id, m.amount,
        CASE WHEN m.rest = 0 AND m.completes = 0 AND r.status = 1 THEN 0 ELSE m.amount - m.rest END AS bought,
        CASE WHEN m.rest = 0 AND m.completes = 0 AND r.status = 3 THEN r.shares ELSE m.shares END AS shares,
        CASE WHEN m.rest = 0 AND r.status = 3 THEN 1 ELSE m.completes END AS completes,
        m.before, m.place
        FROM members m LEFT JOIN orders o ON o.number > 0 AND o.number = m.place / 1024
        LEFT JOIN rewards r ON r.rowid = m.reward
    UNION ALL SELECT m.order_id, m.position, m.app_id, m.reward_id, m.amount, coalesce(a.amount, 0),
        coalesce(a.shares, 0), CASE WHEN a.cost > 0 THEN 1 ELSE 0 END, 0, 0
        FROM past_members m LEFT JOIN past_allocations a ON a.app_id = m.app_id AND a.reward_id = m.reward_id AND a.order_id = m.order_id;
