-- A user whom an operator has erased has neither an email nor an external id.

-- +goose Up
ALTER TABLE users DROP CONSTRAINT IF EXISTS users_check;
