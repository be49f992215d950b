package store

import (
	"context"
	"math"

	"stockrewards/internal/rewards"
)

// An endpoint whose receiver failed for days may have millions of deliveries. A change of all of them would hold up
// the writes of every app, so it is made in parts, each in its own transaction. The last, smaller part comes
// in the transaction that changes the endpoint.
const (
	deliveryPart   = 1000  // deliveries
	redeliveryPart = 10000 // the same for an operator: each part is an entry in the operator log
)

const beforeAll = math.MinInt64 // a test has a negative sequence

// eachPart calls f for each full part of an endpoint's deliveries after a sequence, in their order: f changes those
// after its first and up to its second sequence. It returns the sequence after which less than a part is left.
func (s *Store) eachPart(
	ctx context.Context, app rewards.AppID, id rewards.WebhookEndpointID, after, size int64,
	f func(after, last int64) error,
) (int64, error) {
	for {
		last, full, err := s.lastOfPart(ctx, app, id, after, size)
		if err == nil && full {
			err = f(after, last)
		}
		if err != nil || !full {
			return after, err
		}
		after = last
	}
}

func (s *Store) lastOfPart(
	ctx context.Context, app rewards.AppID, id rewards.WebhookEndpointID, after, size int64,
) (last int64, full bool, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) (err error) {
		full, err = fetchValues(ctx, only(tx), []any{&last}, `SELECT sequence FROM webhook_deliveries
			WHERE app_id = ?1 AND endpoint_id = ?2 AND sequence > ?3 ORDER BY sequence LIMIT 1 OFFSET ?4`,
			app[:], id[:], after, size-1)
		return err
	})
	return last, full, err
}

// resend is what a change of an endpoint makes of its deliveries after a sequence.
type resend struct {
	after int64
	where string // which of them are changed; "" for none
	set   string
}

// resendAfter says which deliveries are sent at once after a change. When the endpoint is enabled these are all that
// were not delivered, with all their retries. When its cursor goes back they are those that wait.
func resendAfter(before, e rewards.WebhookEndpoint) resend {
	switch {
	case before.Disabled != "" && e.Disabled == "":
		return resend{
			beforeAll,
			` AND (` + isPending + ` AND (next_at > 0 OR attempts > 0) OR ` + isFailed + ` AND sequence > 0)`,
			isPending + `, attempts = 0, next_at = 0`,
		}
	case e.Cursor < before.Cursor:
		return resend{e.Cursor, ` AND ` + isPending + ` AND next_at > 0`, `next_at = 0`}
	}
	return resend{}
}

// run changes the deliveries up to a sequence.
func (r resend) run(
	ctx context.Context, tx Tx, app rewards.AppID, id rewards.WebhookEndpointID, last int64,
) error {
	_, err := tx.Exec(ctx, `UPDATE webhook_deliveries SET `+r.set+` WHERE app_id = ?1 AND endpoint_id = ?2
		AND sequence > ?3 AND sequence <= ?4`+r.where, app[:], id[:], r.after, last)
	return err
}

// resendParts changes deliveries that are sent at once after a change of their endpoint, but for the last part.
// If the change does not follow, those of an enabled endpoint are only sent again earlier, and a disabled
// one sends none.
func (s *Store) resendParts(
	ctx context.Context, app rewards.AppID, id rewards.WebhookEndpointID, change func(*rewards.WebhookEndpoint),
) error {
	before, err := s.WebhookEndpoint(ctx, app, id)
	if err != nil {
		return err
	}
	e := before
	change(&e)
	r := resendAfter(before, e)
	if r.where == "" {
		return nil
	}
	_, err = s.eachPart(ctx, app, id, r.after, deliveryPart, func(after, last int64) error {
		r.after = after
		return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error { return r.run(ctx, tx, app, id, last) })
	})
	return err
}

// dropDeliveries disables an endpoint with many deliveries and deletes them, but for the last part.
func (s *Store) dropDeliveries(ctx context.Context, app rewards.AppID, id rewards.WebhookEndpointID) error {
	if _, many, err := s.lastOfPart(ctx, app, id, beforeAll, deliveryPart); err != nil || !many {
		return err
	}
	if err := s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		disable := func(e *rewards.WebhookEndpoint) { e.Disable(rewards.DisabledByApp) }
		_, _, err := changeEndpoint(ctx, tx, app, id, disable)
		return err
	}); err != nil {
		return err
	}
	return s.dropParts(ctx, app, id)
}

// dropParts deletes the deliveries of an endpoint, but for the last part.
func (s *Store) dropParts(ctx context.Context, app rewards.AppID, id rewards.WebhookEndpointID) error {
	_, err := s.eachPart(ctx, app, id, beforeAll, deliveryPart, func(after, last int64) error {
		return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
			_, err := tx.Exec(ctx, `DELETE FROM webhook_deliveries WHERE app_id = ?1 AND endpoint_id = ?2
				AND sequence > ?3 AND sequence <= ?4`, app[:], id[:], after, last)
			return err
		})
	})
	return err
}
