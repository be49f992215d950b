-- A merged filter has the bits of its segments side by side. An older program cannot read that. This program reads the
-- filters of older versions too, and merges them again while it serves (Store.MergeFilters).

-- +goose Up
SELECT 1;
