-- Over PostgreSQL members are in blocks of 32. Views have the blocks and the parts under the same names here, so that
-- statements are the same over both engines.

-- +goose Up
DROP VIEW member_rewards;
CREATE VIEW member_rewards AS SELECT m.place, m.amount,
    CASE WHEN m.rest = 0 AND m.completes = 0 AND r.status = 1 THEN m.amount ELSE m.rest END AS rest,
    CAST(CASE WHEN m.rest = 0 AND m.completes = 0 AND r.status = 3 THEN r.shares ELSE m.shares END AS INTEGER) AS shares,
    CASE WHEN m.rest = 0 AND r.status = 3 THEN 1 ELSE m.completes END AS completes,
    m.before, m.reward AS number, r.app_id, r.id AS reward_id, r.user_id, r.amount AS reward_amount, r.status, r.booked,
    r.counted, r.place AS reward_place, r.shares AS reward_shares, m.place / 32 AS block
    FROM members m CROSS JOIN rewards r WHERE r.rowid = m.reward;
CREATE VIEW member_parts AS SELECT place, rest, shares, before, completes FROM members;
CREATE VIEW member_ends AS SELECT place, place / 32 AS block, place AS last FROM members;
