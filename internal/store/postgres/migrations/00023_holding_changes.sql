-- Whose holdings the newest transactions changed, so that a process may keep holdings in memory. A row is used
-- again after 256 changes, so nothing is ever deleted. users has 8 bytes, a hash, for each user; nothing means everybody.

-- +goose Up
CREATE TABLE holding_changes (
    number BIGINT PRIMARY KEY,
    mark   BIGINT NOT NULL, -- random: another change with this number has another mark
    users  BYTEA NOT NULL
);
INSERT INTO holding_changes (number, mark, users)
    SELECT n, (random() * 9007199254740992)::bigint, ''::bytea FROM generate_series(1, 256) AS n;
CREATE VIEW readable.holding_changes AS SELECT t.number, t.mark, encode(t.users, 'hex') AS users
    FROM holding_changes t CROSS JOIN (VALUES (1)) AS one;
