-- A seal over what identifies a user, so that the audit notices a direct edit. Users
-- from before, and of older processes during an upgrade, have none.

-- +goose Up
ALTER TABLE users ADD COLUMN seal bytea NOT NULL DEFAULT ''::bytea CHECK (octet_length(seal) IN (0, 17));
