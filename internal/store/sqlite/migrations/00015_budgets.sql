-- Budgets limit the dollars that clients of an app award in a period. Package rewards has the rules.

-- +goose Up
-- per: 1 app, 2 user. period: 1 day, 2 month, 3 total. state: 1 counting, 2 active, 3 removed.
-- The counters have the rewards from the id since on, up to reached, and those after cut.
CREATE TABLE budgets (
    id      INTEGER NOT NULL PRIMARY KEY CHECK (id > 0),
    app_id  BLOB    NOT NULL REFERENCES apps (id),
    name    TEXT    NOT NULL CHECK (name <> ''),
    per     INTEGER NOT NULL CHECK (per IN (1, 2)),
    period  INTEGER NOT NULL CHECK (period BETWEEN 1 AND 3),
    allowed INTEGER NOT NULL CHECK (allowed >= 0), -- the limit in millionths of a dollar
    state   INTEGER NOT NULL CHECK (state BETWEEN 1 AND 3),
    since   BLOB    NOT NULL CHECK (length(since) = 16),
    reached BLOB    NOT NULL CHECK (length(reached) = 16),
    cut     BLOB    NOT NULL CHECK (length(cut) = 16)
) STRICT;
CREATE UNIQUE INDEX budgets_of_app ON budgets (app_id, name, state) WHERE state < 3;

-- What was used of a budget in a period. user_id is empty for a budget per app; period_start is 0
-- for a total.
CREATE TABLE budget_use (
    budget       INTEGER NOT NULL,
    period_start INTEGER NOT NULL,
    user_id      BLOB    NOT NULL,
    used         INTEGER NOT NULL,
    PRIMARY KEY (budget, period_start, user_id)
) STRICT, WITHOUT ROWID;

-- Whether the reward counts for budgets: 0 for what the cash of a corporate action became. A rule
-- for it would read every reward now.
ALTER TABLE rewards ADD COLUMN counted INTEGER NOT NULL DEFAULT 1;
UPDATE rewards SET counted = 0 WHERE (app_id, id) IN (SELECT app_id, reward_id FROM effects WHERE reward_id <> x'');
