-- Blocks of segments that an earlier version began to seal, and did not finish, go: they had another size, so that some
-- entries would be in two blocks. `serve` stores them again.

-- +goose Up
LOCK TABLE user_blocks, key_blocks IN SHARE ROW EXCLUSIVE MODE; -- nobody stores more meanwhile
DELETE FROM key_blocks b USING segments g WHERE g.keys <> 2 AND b.place >> 32 = g.number;
DELETE FROM user_blocks b USING segments g WHERE g.users <> 2 AND b.segment = g.number;
