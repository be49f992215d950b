-- A filter has a checksum, so that a damaged one is noticed and made again: see LAYOUT.md. `serve` stores those of the
-- filters of earlier versions.

-- +goose Up
LOCK TABLE segments IN ACCESS EXCLUSIVE MODE;
ALTER TABLE segments ADD COLUMN checksum BIGINT NOT NULL DEFAULT 1; -- 2^32 + the CRC-32C of the filter; 1: not known yet
CREATE OR REPLACE VIEW readable.segments AS SELECT s.number, s.mark, octet_length(s.filter) AS filter_bytes, s.size,
    (ARRAY['index', 'batches', 'blocks'])[s.keys + 1] AS keys, (ARRAY['index', 'batches', 'blocks'])[s.users + 1] AS users, s.page, s.file,
    s.checksum FROM segments s CROSS JOIN (VALUES (1)) AS one;
