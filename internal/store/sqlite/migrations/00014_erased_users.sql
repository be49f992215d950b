-- A user whom an operator has erased has neither an email nor an external id. SQLite can change a
-- rule of a table only in the text of its schema. The new rule holds for every row.

-- +goose Up
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (email <> '''' OR', 'CHECK (email >= '''' OR') WHERE name = 'users';
PRAGMA writable_schema = OFF;
