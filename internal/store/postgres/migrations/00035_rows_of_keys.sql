-- Where the rows of final rewards are, so that a repeated request reads them without the primary key: see LAYOUT.md.

-- +goose Up
LOCK TABLE key_blocks IN ACCESS EXCLUSIVE MODE;
ALTER TABLE key_blocks ADD COLUMN rows TID[] NOT NULL DEFAULT '{}'; -- the ctid of each entry's reward, (0,0) where it is not known; or empty
CREATE OR REPLACE VIEW readable.key_blocks AS SELECT t.place, encode(t.entries, 'hex') AS entries, t.rows
    FROM key_blocks t CROSS JOIN (VALUES (1)) AS one;
