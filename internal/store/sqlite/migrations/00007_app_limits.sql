-- What an app may ask for; 0 is the default.

-- +goose Up
ALTER TABLE apps ADD COLUMN requests_per_second INTEGER NOT NULL DEFAULT 0
    CHECK (requests_per_second BETWEEN 0 AND 1000000);
ALTER TABLE apps ADD COLUMN concurrent INTEGER NOT NULL DEFAULT 0 CHECK (concurrent BETWEEN 0 AND 100000);
