-- A user's failed rewards are listed by a key: few rewards fail, but one user's may be
-- found among millions. The user comes first, so that the list of an app never takes it.

-- +goose Up
CREATE INDEX rewards_failed_by_user ON rewards (user_id, app_id, id) WHERE failure_reason <> '';
