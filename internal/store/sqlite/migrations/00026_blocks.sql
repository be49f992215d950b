-- The entries of a sealed segment are blocks, and not rows: see internal/store/LAYOUT.md. Store.IndexRewards
-- seals the segments of an earlier version again, and empties reward_keys and reward_users.

-- +goose Up
CREATE TABLE key_blocks (
    place   INTEGER NOT NULL PRIMARY KEY, -- the segment x 2^44, and the beginning of the first entry
    entries BLOB    NOT NULL
) STRICT;
CREATE TABLE user_blocks (
    place   INTEGER NOT NULL PRIMARY KEY,
    entries BLOB    NOT NULL
) STRICT;
ALTER TABLE segments ADD COLUMN in_blocks INTEGER NOT NULL DEFAULT 0 CHECK (in_blocks IN (0, 1));
