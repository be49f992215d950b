package store

import (
	"context"
	"fmt"
	"time"

	"stockrewards/internal/rewards"
)

// AllWebhookEndpoints lists the endpoints of every app, by app.
func (s *Store) AllWebhookEndpoints(ctx context.Context) ([]rewards.WebhookEndpoint, error) {
	return readAll(ctx, s, scanEndpoint, `SELECT `+endpointColumns+` FROM webhook_endpoints ORDER BY app_id, id`)
}

// SendingEndpoints lists the endpoints of apps that are not suspended, by app.
func (s *Store) SendingEndpoints(ctx context.Context) ([]rewards.WebhookEndpoint, error) {
	return readAll(ctx, s, scanEndpoint, `SELECT `+endpointColumns+` FROM webhook_endpoints
		WHERE app_id NOT IN (SELECT id FROM apps WHERE suspended = 1) ORDER BY app_id, id`)
}

// NewestEvents returns the sequence of the newest event of each app that has an endpoint.
func (s *Store) NewestEvents(ctx context.Context) (map[rewards.AppID]int64, error) {
	newest := make(map[rewards.AppID]int64)
	err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		clear(newest)
		return tx.Query(ctx, func(row Row) error {
			var app rewards.AppID
			var last int64
			err := row.Scan(toID(&app), &last)
			newest[app] = last
			return err
		}, `SELECT app_id, last FROM (SELECT a.app_id, (SELECT e.last FROM events e WHERE e.app_id = a.app_id
			ORDER BY e.last DESC LIMIT 1) AS last FROM (SELECT DISTINCT app_id FROM webhook_endpoints) AS a) AS newest
			WHERE last IS NOT NULL`)
	})
	return newest, err
}

// PendingTests lists the endpoints with tests that are pending.
func (s *Store) PendingTests(ctx context.Context) ([]rewards.WebhookEndpointID, error) {
	return readAll(ctx, s, func(row Row) (id rewards.WebhookEndpointID, err error) {
		err = row.Scan(toID(&id))
		return id, err
	}, `SELECT endpoint_id FROM webhook_deliveries WHERE `+isPending+` AND `+isTest+`
		GROUP BY app_id, endpoint_id ORDER BY app_id, endpoint_id`)
}

// PendingAfterCursor lists the sequences after an endpoint's cursor whose delivery is pending: their
// first attempt was made.
func (s *Store) PendingAfterCursor(ctx context.Context, e rewards.WebhookEndpoint) ([]int64, error) {
	return readAll(ctx, s, func(row Row) (sequence int64, err error) {
		err = row.Scan(&sequence)
		return sequence, err
	}, `SELECT sequence FROM webhook_deliveries
		WHERE app_id = ?1 AND endpoint_id = ?2 AND sequence > ?3 AND `+isPending, e.AppID[:], e.ID[:], e.Cursor)
}

// NewestDelivery returns the newest sequence of an endpoint's deliveries; 0 without one.
func (s *Store) NewestDelivery(ctx context.Context, e rewards.WebhookEndpoint) (sequence int64, err error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) (sequence int64, err error) {
		_, err = fetchValues(ctx, only(tx), []any{&sequence}, `SELECT sequence FROM webhook_deliveries
			WHERE app_id = ?1 AND endpoint_id = ?2 ORDER BY sequence DESC LIMIT 1`, e.AppID[:], e.ID[:])
		return sequence, err
	})
}

// DueDeliveries lists at most limit pending deliveries of an endpoint that are due, longest due first.
// Of a disabled endpoint it lists only tests. next is when a later one is due; zero: none is.
func (s *Store) DueDeliveries(
	ctx context.Context, e rewards.WebhookEndpoint, now time.Time, limit int,
) (due []rewards.Delivery, next time.Time, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) (err error) {
		if e.Disabled != "" {
			due, next, err = dueTests(ctx, tx, e, now)
			return err
		}
		due, err = fetchAll(ctx, tx, scanDelivery, `SELECT `+deliveryColumns+` FROM webhook_deliveries
			WHERE app_id = ?1 AND endpoint_id = ?2 AND `+isPending+` AND next_at <= ?3
			ORDER BY next_at, sequence LIMIT ?4 + 0`, e.AppID[:], e.ID[:], micros(now), limit)
		if err != nil {
			return err
		}
		_, err = fetchValues(ctx, tx, []any{toTime{&next}}, `SELECT next_at FROM webhook_deliveries
			WHERE app_id = ?1 AND endpoint_id = ?2 AND `+isPending+` AND next_at > ?3
			ORDER BY next_at LIMIT 1`, e.AppID[:], e.ID[:], micros(now))
		return err
	})
	return due, next, err
}

// dueTests lists the pending tests of an endpoint that are due, and when the next one is.
func dueTests(
	ctx context.Context, tx Tx, e rewards.WebhookEndpoint, now time.Time,
) (due []rewards.Delivery, next time.Time, err error) {
	const most = 1000
	err = fetchEach(ctx, tx, scanDelivery, func(d rewards.Delivery) error {
		switch {
		case !d.NextAt.After(now):
			due = append(due, d)
		case next.IsZero() || d.NextAt.Before(next):
			next = d.NextAt
		}
		return nil
	}, `SELECT `+deliveryColumns+` FROM webhook_deliveries WHERE app_id = ?1 AND endpoint_id = ?2 AND `+isTest+`
		AND `+isPending+` ORDER BY sequence DESC LIMIT ?3 + 0`, e.AppID[:], e.ID[:], most)
	return due, next, err
}

// SaveWebhooks stores what was sent to endpoints, in one transaction. It returns the stale ones: another process has
// the shard now, or the endpoint was changed or deleted. Nothing of them is stored, apart from two things of a changed
// endpoint: what became of its tests, and deliveries that wait for their first retry, because their bodies must stay.
func (s *Store) SaveWebhooks(
	ctx context.Context, list []rewards.WebhookProgress,
) (stale map[rewards.WebhookEndpointID]bool, err error) {
	err = s.engine.WritePatiently(ctx, func(ctx context.Context, tx Tx) error {
		stale = make(map[rewards.WebhookEndpointID]bool)
		shards, err := readShards(ctx, tx)
		if err != nil {
			return err
		}
		versions := make(map[rewards.WebhookEndpointID]int64)
		if err := tx.Query(ctx, func(row Row) error {
			var id rewards.WebhookEndpointID
			var version int64
			err := row.Scan(toID(&id), &version)
			versions[id] = version
			return err
		}, `SELECT id, version FROM webhook_endpoints`); err != nil {
			return err
		}
		var current []rewards.WebhookProgress
		var tests, waiting []rewards.Delivery
		for _, p := range list {
			shard := shards[p.Shard.Number]
			version, exists := versions[p.Endpoint.ID]
			switch mine := shard.Epoch == p.Shard.Epoch && shard.Holder == p.Shard.Holder; {
			case mine && version == p.Endpoint.Version:
				current = append(current, p)
				continue
			case mine && exists:
				tests, waiting = append(tests, p.Tests()...), append(waiting, p.Waiting()...)
			}
			stale[p.Endpoint.ID] = true
		}
		if err := saveDeliveries(ctx, tx, tests); err != nil {
			return err
		}
		if err := addDeliveries(ctx, tx, waiting); err != nil { // the change may have reset a stored one
			return err
		}
		return saveProgress(ctx, tx, current)
	})
	return stale, err
}

func saveProgress(ctx context.Context, tx Tx, list []rewards.WebhookProgress) error {
	var endpoints, trims [][]any
	var deliveries []rewards.Delivery
	for _, p := range list {
		e := p.Endpoint
		endpoints = append(endpoints, []any{e.AppID[:], e.ID[:], e.Cursor, micros(e.FailingSince), e.Disabled})
		if p.Trim {
			trims = append(trims, []any{e.AppID[:], e.ID[:], int64(rewards.KeptDeliveries - 1)})
		}
		deliveries = append(deliveries, p.Deliveries...)
	}
	if _, err := execRows(ctx, tx, `UPDATE webhook_endpoints SET cursor = ?3, failing_since = ?4, disabled = ?5
		WHERE app_id = ?1 AND id = ?2`, `UPDATE webhook_endpoints e SET cursor = b.cursor,
		failing_since = b.failing_since, disabled = b.disabled FROM unnest(?1::bytea[], ?2::bytea[], ?3::bigint[],
		?4::bigint[], ?5::text[]) AS b (app_id, id, cursor, failing_since, disabled)
		WHERE e.app_id = b.app_id AND e.id = b.id`, endpoints); err != nil {
		return err
	}
	if err := saveDeliveries(ctx, tx, deliveries); err != nil || len(trims) == 0 {
		return err
	}
	_, err := tx.ExecEach(ctx, `DELETE FROM webhook_deliveries
		WHERE app_id = ?1 AND endpoint_id = ?2 AND `+isDelivered+`
		AND (tried_at, sequence) < (SELECT tried_at, sequence FROM webhook_deliveries WHERE app_id = ?1
		AND endpoint_id = ?2 AND `+isDelivered+` ORDER BY tried_at DESC, sequence DESC LIMIT 1 OFFSET ?3)`, trims)
	return err
}

// ResealWebhookSecrets stores what reseal makes of the secrets of each endpoint, unless it returns
// false. It returns how many it changed. Where reseal fails the secrets stay, and it fails after the others are stored.
func (s *Store) ResealWebhookSecrets(
	ctx context.Context, reseal func(*rewards.WebhookEndpoint) (bool, error),
) (changed int, err error) {
	var locked int
	var why error // of one that is locked
	err = s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		changed, locked = 0, 0
		list, err := fetchAll(ctx, tx, scanEndpoint,
			`SELECT `+endpointColumns+` FROM webhook_endpoints ORDER BY app_id, id`)
		if err != nil {
			return err
		}
		for _, e := range list {
			again, err := reseal(&e)
			if err != nil {
				locked, why = locked+1, err
			}
			if err != nil || !again {
				continue
			}
			changed++
			old, _ := oldSecrets(e.OldSecrets)
			if _, err := tx.Exec(ctx, `UPDATE webhook_endpoints SET secret = ?3, old_secret = ?4
				WHERE app_id = ?1 AND id = ?2`, e.AppID[:], e.ID[:], []byte(e.Secret), old); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return 0, err
	case locked > 0:
		err = fmt.Errorf("the secrets of %d endpoints stay as they are: %w", locked, why)
	}
	return changed, err
}
