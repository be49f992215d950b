package store

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"stockrewards/internal/rewards"
)

const endpointColumns = `app_id, id, url, types, description, disabled, secret, old_secret, old_until, cursor,
	failing_since, version`

func scanEndpoint(row Row) (e rewards.WebhookEndpoint, err error) {
	var old []byte
	var until time.Time
	if err = row.Scan(toID(&e.AppID), toID(&e.ID), &e.URL, (*int)(&e.Types), &e.Description, &e.Disabled,
		toBytes{(*[]byte)(&e.Secret)}, toBytes{&old}, toTime{&until}, &e.Cursor,
		toTime{&e.FailingSince}, &e.Version); err == nil {
		e.OldSecrets, err = readOldSecrets(old, until)
	}
	return e, err
}

// storedSecret is one of several secrets in the column old_secret.
type storedSecret struct {
	Sealed []byte `json:"sealed"`
	Until  int64  `json:"until"` // microseconds since 1970
}

// oldSecrets are the columns old_secret and old_until. A single secret is there as it is, several are a list in JSON.
// The dispatcher of an earlier program reads a list as a secret that no key opens, and leaves it out; its Reseal fails.
func oldSecrets(old []rewards.OldSecret) (secret []byte, until int64) {
	switch len(old) {
	case 0:
		return []byte{}, 0
	case 1:
		return old[0].Sealed, micros(old[0].Until)
	}
	list := make([]storedSecret, len(old))
	for i, o := range old {
		list[i] = storedSecret{o.Sealed, micros(o.Until)}
	}
	secret, _ = json.Marshal(list) // it cannot fail
	return secret, list[0].Until
}

// readOldSecrets reads what oldSecrets returns. A sealed secret does not begin with a bracket: it begins with the
// version of its form.
func readOldSecrets(secret []byte, until time.Time) ([]rewards.OldSecret, error) {
	if len(secret) == 0 {
		return nil, nil
	}
	if secret[0] != '[' {
		return []rewards.OldSecret{{Sealed: secret, Until: until}}, nil
	}
	var list []storedSecret
	if err := json.Unmarshal(secret, &list); err != nil {
		return nil, fmt.Errorf("store: cannot read the old secrets of a webhook endpoint: %w", err)
	}
	old := make([]rewards.OldSecret, len(list))
	for i, o := range list {
		old[i] = rewards.OldSecret{Sealed: o.Sealed, Until: time.UnixMicro(o.Until).UTC()}
	}
	return old, nil
}

func errNoEndpoint() error { return notFound("webhook endpoint not found") }

// WebhookEndpoints implements rewards.WebhookStore.
func (s *Store) WebhookEndpoints(
	ctx context.Context, app rewards.AppID, p rewards.Page[rewards.WebhookEndpoint],
) ([]rewards.WebhookEndpoint, error) {
	return readAllOf(ctx, s, app, scanEndpoint, `SELECT `+endpointColumns+` FROM webhook_endpoints
		WHERE app_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3 + 0`, app[:], before(p.Before), p.Limit)
}

// WebhookEndpoint implements rewards.WebhookStore.
func (s *Store) WebhookEndpoint(
	ctx context.Context, app rewards.AppID, id rewards.WebhookEndpointID,
) (rewards.WebhookEndpoint, error) {
	return readOf(ctx, s, app, func(ctx context.Context, tx Tx) (rewards.WebhookEndpoint, error) {
		return findEndpoint(ctx, only(tx), app, id)
	})
}

func findEndpoint(
	ctx context.Context, tx Tx, app rewards.AppID, id rewards.WebhookEndpointID,
) (rewards.WebhookEndpoint, error) {
	e, found, err := fetchOne(ctx, tx, scanEndpoint,
		`SELECT `+endpointColumns+` FROM webhook_endpoints WHERE app_id = ?1 AND id = ?2`, app[:], id[:])
	if err == nil && !found {
		err = errNoEndpoint()
	}
	return e, err
}

// CreateWebhookEndpoint implements rewards.WebhookStore.
func (s *Store) CreateWebhookEndpoint(
	ctx context.Context, e rewards.WebhookEndpoint,
) (rewards.WebhookEndpoint, error) {
	err := s.engine.Write(ctx, func(ctx context.Context, tx Tx) (err error) {
		e, err = s.insertEndpoint(ctx, tx, e)
		return err
	})
	return e, err
}

// insertEndpoint stores an endpoint with a new id, which gets the events from now on. It fails with
// rewards.ErrTooManyEndpoints.
func (s *Store) insertEndpoint(
	ctx context.Context, tx Tx, e rewards.WebhookEndpoint,
) (rewards.WebhookEndpoint, error) {
	e.ID, e.Version = rewards.NewID[rewards.WebhookEndpoint](s.ids), 1
	var count int
	if _, err := fetchValues(ctx, tx, []any{&count},
		`SELECT count(*) FROM webhook_endpoints WHERE app_id = ?1`, e.AppID[:]); err != nil {
		return e, err
	}
	if count >= rewards.MaxWebhookEndpoints {
		return e, rewards.ErrTooManyEndpoints()
	}
	if _, err := fetchValues(ctx, tx, []any{&e.Cursor},
		`SELECT last FROM event_counter WHERE "only" = 1`); err != nil {
		return e, err
	}
	old, until := oldSecrets(e.OldSecrets)
	_, err := tx.Exec(ctx, `INSERT INTO webhook_endpoints (`+endpointColumns+`)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`, e.AppID[:], e.ID[:], e.URL,
		int64(e.Types), e.Description, e.Disabled, []byte(e.Secret), old, until, e.Cursor, micros(e.FailingSince),
		e.Version)
	if err != nil {
		return e, err
	}
	return e, countChange(ctx, tx)
}

// ChangeWebhookEndpoint implements rewards.WebhookStore.
func (s *Store) ChangeWebhookEndpoint(
	ctx context.Context, app rewards.AppID, id rewards.WebhookEndpointID, change func(*rewards.WebhookEndpoint),
) (e rewards.WebhookEndpoint, err error) {
	err = s.resendParts(ctx, app, id, change)
	if err != nil {
		return e, err
	}
	err = s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		e, _, err = changeEndpoint(ctx, tx, app, id, change)
		return err
	})
	return e, err
}

// changeEndpoint changes an endpoint, and its deliveries as resendAfter says. resendParts comes before it.
func changeEndpoint(
	ctx context.Context, tx Tx, app rewards.AppID, id rewards.WebhookEndpointID, change func(*rewards.WebhookEndpoint),
) (e, before rewards.WebhookEndpoint, err error) {
	if before, err = findEndpoint(ctx, tx, app, id); err != nil {
		return e, before, err
	}
	e = before
	change(&e)
	e.Version++
	old, until := oldSecrets(e.OldSecrets)
	if _, err = tx.Exec(ctx, `UPDATE webhook_endpoints SET url = ?3, types = ?4, description = ?5, disabled = ?6,
		secret = ?7, old_secret = ?8, old_until = ?9, cursor = ?10, failing_since = ?11, version = ?12
		WHERE app_id = ?1 AND id = ?2`, app[:], id[:], e.URL, int64(e.Types), e.Description, e.Disabled,
		[]byte(e.Secret), old, until, e.Cursor, micros(e.FailingSince), e.Version); err != nil {
		return e, before, err
	}
	if r := resendAfter(before, e); r.where != "" {
		if err := r.run(ctx, tx, app, id, math.MaxInt64); err != nil {
			return e, before, err
		}
	}
	return e, before, countChange(ctx, tx)
}

// DeleteWebhookEndpoint implements rewards.WebhookStore. An endpoint with many deliveries is disabled first, and they
// are deleted in parts. When that is interrupted, the next request goes on.
func (s *Store) DeleteWebhookEndpoint(ctx context.Context, app rewards.AppID, id rewards.WebhookEndpointID) error {
	if err := s.dropDeliveries(ctx, app, id); err != nil {
		return err
	}
	return s.judged(ctx, s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := findEndpoint(ctx, tx, app, id); err != nil {
			return err
		}
		return deleteEndpoint(ctx, tx, app, id)
	}))
}

// deleteEndpoint deletes an endpoint with what is left of its deliveries.
func deleteEndpoint(ctx context.Context, tx Tx, app rewards.AppID, id rewards.WebhookEndpointID) error {
	for _, statement := range []string{
		`DELETE FROM webhook_deliveries WHERE app_id = ?1 AND endpoint_id = ?2`,
		`DELETE FROM webhook_endpoints WHERE app_id = ?1 AND id = ?2`,
	} {
		if _, err := tx.Exec(ctx, statement, app[:], id[:]); err != nil {
			return err
		}
	}
	return countChange(ctx, tx)
}

// countChange makes the processes that send webhooks read the endpoints again.
func countChange(ctx context.Context, tx Tx) error {
	_, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES (?1, '1') ON CONFLICT (name) DO UPDATE
		SET value = CAST(CAST(settings.value AS bigint) + 1 AS text)`, settingWebhookChanges)
	return err
}

// WebhookChanges returns a string that differs after each change of an endpoint, and after an app was suspended or
// resumed; "" before the first.
func (s *Store) WebhookChanges(ctx context.Context) (string, error) {
	return s.readSetting(ctx, settingWebhookChanges)
}
