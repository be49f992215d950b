-- The blocks of members and the new index of users take the place of what was before: see 00028_member_blocks.sql.

-- +goose Up
LOCK TABLE open_rewards, orders, rewards, members IN ACCESS EXCLUSIVE MODE; -- at once, as readers take several too
DROP INDEX rewards_by_user;
ALTER INDEX rewards_by_user_entry RENAME TO rewards_by_user;
ALTER TABLE members RENAME TO old_members;

-- What an order carried. Whoever looks for those of an order names its blocks; member_at finds one.
CREATE VIEW members AS SELECT b.block * 32 + n.n AS place, b.block,
    substring(b.apps FROM get_byte(b.app_of, n.n) * 16 + 1 FOR 16) AS app_id,
    substring(b.rewards FROM n.n * 16 + 1 FOR 16) AS reward_id, b.amounts[n.n + 1] AS amount
    FROM member_blocks b CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15),
        (16), (17), (18), (19), (20), (21), (22), (23), (24), (25), (26), (27), (28), (29), (30), (31)) AS n (n)
    WHERE n.n < octet_length(b.app_of);
-- The last member of each block.
CREATE VIEW member_ends AS SELECT block, block * 32 + octet_length(app_of) - 1 AS place FROM member_blocks;

-- Members with their rewards. rest, shares and completes are what the order did, wherever they are stored.
CREATE OR REPLACE VIEW member_rewards AS SELECT m.place, m.amount,
    CASE WHEN p.place IS NULL AND r.status = 1 THEN m.amount ELSE coalesce(p.rest, 0) END AS rest,
    CASE WHEN p.place IS NULL AND r.status = 3 THEN r.shares ELSE coalesce(p.shares, 0) END AS shares,
    CASE WHEN p.place IS NULL AND r.status = 3 THEN 1::smallint ELSE coalesce(p.completes, 0::smallint) END AS completes,
    coalesce(p.before, 0) AS before, 0::bigint AS number, m.app_id, m.reward_id, r.user_id, r.amount AS reward_amount,
    r.status, r.booked, r.counted, r.place AS reward_place, r.shares AS reward_shares, m.block FROM members m
    CROSS JOIN LATERAL (SELECT * FROM rewards r WHERE r.app_id = m.app_id AND r.id = m.reward_id LIMIT 1) AS r
    LEFT JOIN LATERAL (SELECT * FROM member_parts p WHERE p.place = m.place LIMIT 1) AS p ON true;
-- The row of member_rewards at a place, without looking at the other members of its block. PostgreSQL puts the text of such
-- a function into the statement that uses it.
-- +goose StatementBegin
CREATE FUNCTION member_at(place bigint) RETURNS SETOF member_rewards LANGUAGE sql STABLE PARALLEL SAFE BEGIN ATOMIC
    SELECT $1, m.amount,
        CASE WHEN p.place IS NULL AND r.status = 1 THEN m.amount ELSE coalesce(p.rest, 0) END,
        CASE WHEN p.place IS NULL AND r.status = 3 THEN r.shares ELSE coalesce(p.shares, 0) END,
        CASE WHEN p.place IS NULL AND r.status = 3 THEN 1::smallint ELSE coalesce(p.completes, 0::smallint) END,
        coalesce(p.before, 0), 0::bigint, m.app_id, m.reward_id, r.user_id, r.amount,
        r.status, r.booked, r.counted, r.place, r.shares, m.block
    FROM (SELECT b.block, substring(b.apps FROM get_byte(b.app_of, n) * 16 + 1 FOR 16) AS app_id,
        substring(b.rewards FROM n * 16 + 1 FOR 16) AS reward_id, b.amounts[n + 1] AS amount
        FROM member_blocks b CROSS JOIN LATERAL (SELECT ($1 % 32)::int AS n) AS position
        WHERE b.block = $1 / 32 AND n < octet_length(b.app_of)) AS m
    CROSS JOIN LATERAL (SELECT * FROM rewards r WHERE r.app_id = m.app_id AND r.id = m.reward_id LIMIT 1) AS r
    LEFT JOIN LATERAL (SELECT * FROM member_parts p WHERE p.place = $1 LIMIT 1) AS p ON true;
END;
-- +goose StatementEnd
CREATE OR REPLACE VIEW order_members AS
    SELECT o.id AS order_id, m.place - o.number * 1024 AS position, m.app_id, m.reward_id, m.amount,
        m.amount - m.rest AS bought, m.shares, m.completes * m.reward_amount AS cost, m.place, m.user_id, m.status,
        m.reward_place FROM orders o CROSS JOIN member_rewards m
        WHERE o.number > 0 AND m.block >= o.number * 32 AND m.block < o.number * 32 + 32
    UNION ALL SELECT m.order_id, m.position, m.app_id, m.reward_id, m.amount, coalesce(a.amount, 0),
        coalesce(a.shares, 0), coalesce(a.cost, 0), 0, r.user_id, r.status, r.place FROM past_members m
        CROSS JOIN LATERAL (SELECT * FROM rewards r WHERE r.app_id = m.app_id AND r.id = m.reward_id LIMIT 1) AS r
        LEFT JOIN past_allocations a
        ON a.app_id = m.app_id AND a.reward_id = m.reward_id AND a.order_id = m.order_id;
CREATE OR REPLACE VIEW order_rewards AS
    SELECT o.id AS order_id, m.place - o.number * 1024 AS position, m.app_id, m.reward_id, m.amount
        FROM orders o CROSS JOIN members m
        WHERE o.number > 0 AND m.block >= o.number * 32 AND m.block < o.number * 32 + 32
    UNION ALL SELECT order_id, position, app_id, reward_id, amount FROM past_members;
CREATE OR REPLACE VIEW allocations AS
    SELECT m.app_id, m.reward_id, o.id AS order_id, m.amount - m.rest AS amount, m.shares, m.user_id,
        o.settled_at AS at, m.completes * m.reward_amount AS cost FROM orders o CROSS JOIN member_rewards m
        WHERE o.number > 0 AND m.block >= o.number * 32 AND m.block < o.number * 32 + 32 AND m.rest < m.amount
    UNION ALL SELECT app_id, reward_id, order_id, amount, shares, user_id, at, cost FROM past_allocations;

-- What the audit reads: every member, also of an order or a reward that does not exist, and parts without a member.
CREATE OR REPLACE VIEW all_members AS
    SELECT coalesce(o.id, ''::bytea) AS order_id, m.place % 1024 AS position, m.app_id, m.reward_id, m.amount,
        CASE WHEN p.place IS NULL AND r.status = 1 THEN 0 ELSE m.amount - coalesce(p.rest, 0) END AS bought,
        CASE WHEN p.place IS NULL AND r.status = 3 THEN r.shares ELSE coalesce(p.shares, 0) END AS shares,
        CASE WHEN p.place IS NULL AND r.status = 3 THEN 1::bigint ELSE coalesce(p.completes, 0) END AS completes,
        coalesce(p.before, 0) AS before, m.place
        FROM members m LEFT JOIN orders o ON o.number > 0 AND o.number = m.place / 1024
        LEFT JOIN rewards r ON r.app_id = m.app_id AND r.id = m.reward_id
        LEFT JOIN member_parts p ON p.place = m.place
    UNION ALL SELECT m.order_id, m.position, m.app_id, m.reward_id, m.amount, coalesce(a.amount, 0),
        coalesce(a.shares, 0), CASE WHEN a.cost > 0 THEN 1 ELSE 0 END, 0, 0
        FROM past_members m LEFT JOIN past_allocations a ON a.app_id = m.app_id AND a.reward_id = m.reward_id AND a.order_id = m.order_id
    UNION ALL SELECT '', p.place % 1024, '', '', 0, 0, p.shares, p.completes, p.before, p.place FROM member_parts p
        LEFT JOIN member_ends e ON e.block = p.place / 32 WHERE e.place IS NULL OR e.place < p.place;
DROP VIEW member_figures;
DROP TABLE old_members;
CREATE VIEW readable.member_blocks AS SELECT t.block, t.block / 32 AS order_number, cardinality(t.amounts) AS members
    FROM member_blocks t CROSS JOIN (VALUES (1)) AS one;
CREATE VIEW readable.member_parts AS SELECT t.place, readable.usd(t.rest) AS rest, readable.nano(t.shares) AS shares,
    t.before, t.completes = 1 AS completes FROM member_parts t CROSS JOIN (VALUES (1)) AS one;
