-- Each reward belongs to a segment, so that new rewards change the indexes of the newest one only: see LAYOUT.md. Those
-- of an older store are all of segment 0. The filter of a sealed segment says which idempotency keys it lacks; none yet: ''.

-- +goose Up
ALTER TABLE rewards ADD COLUMN segment INTEGER NOT NULL DEFAULT 0;
CREATE TABLE segments (
    number INTEGER PRIMARY KEY CHECK (number >= 0),
    mark   BIGINT NOT NULL, -- random: after a fail-over another segment with this number has another mark
    filter BYTEA NOT NULL DEFAULT ''
);
ALTER TABLE segments ALTER filter SET STORAGE EXTERNAL; -- it cannot be compressed
INSERT INTO segments (number, mark) VALUES (0, (random() * 9007199254740992)::bigint);
CREATE VIEW readable.segments AS SELECT s.number, s.mark, octet_length(s.filter) AS filter_bytes
    FROM segments s CROSS JOIN (VALUES (1)) AS one;
