-- The members of an order, what the order bought for them, and where a reward's orders and a user's lots are
-- found take 80 bytes for each reward instead of 330. Views show them as before: see
-- internal/store/LAYOUT.md. Store.MoveMembers moves the members of booked orders of an earlier version.

-- +goose Up
ALTER TABLE order_rewards RENAME TO past_members;
ALTER TABLE allocations RENAME TO past_allocations;

-- Members have a place: the number of the order x 1,024 + the position in the order, from 0.
CREATE TABLE members (
    place     INTEGER NOT NULL PRIMARY KEY CHECK (place >= 1024),
    reward    INTEGER NOT NULL CHECK (reward > 0),                 -- its number
    amount    INTEGER NOT NULL CHECK (amount > 0),
    rest      INTEGER NOT NULL CHECK (rest BETWEEN 0 AND amount),  -- what the order did not buy
    shares    INTEGER NOT NULL CHECK (shares >= 0),
    completes INTEGER NOT NULL CHECK (completes IN (0, 1)),        -- it is the last part of an executed reward
    before    INTEGER NOT NULL CHECK (before >= 0)                 -- place of the reward in the order booked before
) STRICT;

-- What a user's activity has of awards. Its user is that of the reward.
CREATE TABLE lots (
    user_hash INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    place     INTEGER NOT NULL,
    PRIMARY KEY (user_hash, at, place)
) STRICT, WITHOUT ROWID;

-- Spans of ids, each of 128 milliseconds, with an executed reward of the app.
CREATE TABLE executed_spans (
    app_id BLOB NOT NULL,
    first  BLOB NOT NULL CHECK (length(first) = 6),
    until  BLOB NOT NULL CHECK (length(until) = 6),
    PRIMARY KEY (app_id, first)
) STRICT, WITHOUT ROWID;

ALTER TABLE orders ADD COLUMN number INTEGER NOT NULL DEFAULT 0; -- 0: its members are in past_members
CREATE UNIQUE INDEX orders_by_number ON orders (number) WHERE number > 0;
CREATE INDEX orders_past ON orders (id) WHERE number = 0;
ALTER TABLE open_rewards ADD COLUMN place INTEGER NOT NULL DEFAULT 0; -- in the order that has it
-- SQLite reads a whole table for each new column, to check its rules. So it gets to know two of the three only
-- by the text of its schema. place: in the last booked order. shares: that the booked orders bought. room: until
-- the reward is final, for the final figures.
ALTER TABLE rewards ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'place INTEGER NOT NULL DEFAULT 0', 'place INTEGER NOT NULL DEFAULT 0, ' ||
    'shares INTEGER NOT NULL DEFAULT 0, room BLOB NOT NULL DEFAULT x''''') WHERE type = 'table' AND name = 'rewards';
PRAGMA writable_schema = RESET; -- and read the changed text

UPDATE orders SET number = (SELECT count(*) FROM orders o WHERE o.state < 6 AND o.id <= orders.id) WHERE state < 6;
INSERT INTO members (place, reward, amount, rest, shares, completes, before)
    SELECT o.number * 1024 + m.position, r.rowid, m.amount, m.amount, 0, 0, 0 FROM orders o
    CROSS JOIN past_members m CROSS JOIN rewards r
    WHERE o.state < 6 AND m.order_id = o.id AND r.app_id = m.app_id AND r.id = m.reward_id;
UPDATE open_rewards SET place = coalesce((SELECT o.number * 1024 + m.position FROM past_members m CROSS JOIN orders o
    WHERE m.app_id = open_rewards.app_id AND m.reward_id = open_rewards.id AND o.id = m.order_id AND o.state < 6), 0)
    WHERE status = 2 AND waiting = 0;
DELETE FROM past_members WHERE order_id IN (SELECT id FROM orders WHERE state < 6);

-- Members with their rewards, and as they are read by order: those that are not moved yet, too.
CREATE VIEW member_rewards AS SELECT m.place, m.amount, m.rest, m.shares, m.completes, m.before, m.reward AS number,
    r.app_id, r.id AS reward_id, r.user_id, r.amount AS reward_amount, r.status, r.booked, r.counted,
    r.place AS reward_place, r.shares AS reward_shares FROM members m CROSS JOIN rewards r WHERE r.rowid = m.reward;
-- Both parts of order_members have columns of one type, so that SQLite merges them in the order of a query.
CREATE VIEW order_members AS
    SELECT o.id AS order_id, CAST(m.place - o.number * 1024 AS INTEGER) AS position, m.app_id, m.reward_id, m.amount,
        CAST(m.amount - m.rest AS INTEGER) AS bought, m.shares, CAST(m.completes * m.reward_amount AS INTEGER) AS cost,
        m.place, m.user_id, m.status, m.reward_place FROM orders o CROSS JOIN member_rewards m
        WHERE m.place >= o.number * 1024 AND m.place < o.number * 1024 + 1024
    UNION ALL SELECT m.order_id, m.position, m.app_id, m.reward_id, m.amount, CAST(coalesce(a.amount, 0) AS INTEGER),
        CAST(coalesce(a.shares, 0) AS INTEGER), CAST(coalesce(a.cost, 0) AS INTEGER), CAST(0 AS INTEGER), r.user_id,
        r.status, r.place FROM past_members m CROSS JOIN rewards r LEFT JOIN past_allocations a
        ON a.app_id = m.app_id AND a.reward_id = m.reward_id AND a.order_id = m.order_id
        WHERE r.app_id = m.app_id AND r.id = m.reward_id;
CREATE VIEW order_rewards AS
    SELECT o.id AS order_id, m.place - o.number * 1024 AS position, m.app_id, m.reward_id, m.amount
        FROM orders o CROSS JOIN member_rewards m
        WHERE m.place >= o.number * 1024 AND m.place < o.number * 1024 + 1024
    UNION ALL SELECT order_id, position, app_id, reward_id, amount FROM past_members;
CREATE VIEW allocations AS
    SELECT m.app_id, m.reward_id, o.id AS order_id, m.amount - m.rest AS amount, m.shares, m.user_id,
        o.settled_at AS at, m.completes * m.reward_amount AS cost FROM orders o CROSS JOIN member_rewards m
        WHERE m.place >= o.number * 1024 AND m.place < o.number * 1024 + 1024 AND m.rest < m.amount
    UNION ALL SELECT app_id, reward_id, order_id, amount, shares, user_id, at, cost FROM past_allocations;

-- What the audit reads: every member, also of an order or a reward that does not exist.
CREATE VIEW all_members AS
    SELECT coalesce(o.id, x'') AS order_id, m.place % 1024 AS position,
        coalesce(r.app_id, x'') AS app_id, coalesce(r.id, x'') AS reward_id,
        m.amount, m.amount - m.rest AS bought, m.shares, m.completes, m.before, m.place
        FROM members m LEFT JOIN orders o ON o.number > 0 AND o.number = m.place / 1024
        LEFT JOIN rewards r ON r.rowid = m.reward
    UNION ALL SELECT m.order_id, m.position, m.app_id, m.reward_id, m.amount, coalesce(a.amount, 0),
        coalesce(a.shares, 0), CASE WHEN a.cost > 0 THEN 1 ELSE 0 END, 0, 0
        FROM past_members m LEFT JOIN past_allocations a ON a.app_id = m.app_id AND a.reward_id = m.reward_id AND a.order_id = m.order_id;
