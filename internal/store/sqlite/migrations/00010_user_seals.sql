-- A seal over what identifies a user, so that the audit notices a direct edit. Users
-- from before have none.

-- +goose Up
ALTER TABLE users ADD COLUMN seal BLOB NOT NULL DEFAULT x'' CHECK (length(seal) IN (0, 17));
