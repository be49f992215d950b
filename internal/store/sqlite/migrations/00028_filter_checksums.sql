-- A filter has a checksum, so that a damaged one is noticed and made again: see internal/store/LAYOUT.md. `serve` stores
-- those of the filters of earlier versions.

-- +goose Up
ALTER TABLE segment_filters ADD COLUMN checksum INTEGER NOT NULL DEFAULT 1; -- 2^32 + the CRC-32C of bits; 1: not known yet
