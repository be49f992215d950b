-- Where the rows of final rewards are, so that a list of a user reads them without the primary key: see LAYOUT.md.

-- +goose Up
LOCK TABLE segments, user_blocks IN ACCESS EXCLUSIVE MODE; -- in the order of readers
ALTER TABLE segments ADD COLUMN page BIGINT NOT NULL DEFAULT -1; -- how many pages the table of rewards had when it began; -1: not known
ALTER TABLE segments ADD COLUMN file BIGINT NOT NULL DEFAULT 0; -- the number of the file of that table when the users were sealed
ALTER TABLE user_blocks ADD COLUMN rows BYTEA NOT NULL DEFAULT ''; -- 6 bytes for each entry, as ctid, zeros where it is not known; or empty
ALTER TABLE user_blocks ALTER rows SET STORAGE EXTERNAL;
UPDATE segments SET page = 0 WHERE number = 0 AND NOT EXISTS (SELECT 1 FROM rewards);
CREATE OR REPLACE VIEW readable.user_blocks AS SELECT t.segment, encode(t.first, 'hex') AS first, encode(t.entries, 'hex') AS entries,
    encode(t.rows, 'hex') AS rows FROM user_blocks t CROSS JOIN (VALUES (1)) AS one;
CREATE OR REPLACE VIEW readable.segments AS SELECT s.number, s.mark, octet_length(s.filter) AS filter_bytes, s.size,
    (ARRAY['index', 'batches', 'blocks'])[s.keys + 1] AS keys, (ARRAY['index', 'batches', 'blocks'])[s.users + 1] AS users, s.page, s.file
    FROM segments s CROSS JOIN (VALUES (1)) AS one;
