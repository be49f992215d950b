package store

import (
	"context"
	"math"

	"stockrewards/internal/rewards"
)

// deliveryPart limits a part of a change of deliveries. An endpoint whose receiver failed for days may have millions.
// A change of all of them would hold up the writes of every app, so it is made in parts, each in its own transaction.
// The last, smaller part comes in the transaction that changes the endpoint.
func deliveryPart() part { return part{rows: 1000, bytes: 256 << 10} }

// redeliveryPart is the same for an operator: each part is an entry in the operator log.
func redeliveryPart() part { return part{rows: 10000, bytes: 4 << 20} }

// part limits the deliveries that one transaction changes. It is full when one of the limits is reached.
type part struct {
	rows  int
	bytes int // of answers and bodies
}

const beforeAll = math.MinInt64 // a test has a negative sequence

// eachPart calls f for each full part of an endpoint's deliveries after a sequence, in their order: f changes those
// after its first and up to its second sequence. It returns the sequence after which less than a part is left.
func (s *Store) eachPart(
	ctx context.Context, app rewards.AppID, id rewards.WebhookEndpointID, after int64, size part,
	f func(after, last int64) error,
) (int64, error) {
	for {
		list, err := s.sizesAfter(ctx, app, id, after, size.rows)
		if err != nil {
			return after, err
		}
		for _, last := range size.cut(list) {
			if err := f(after, last); err != nil {
				return after, err
			}
			after = last
		}
		if len(list) < size.rows {
			return after, nil
		}
	}
}

// deliverySize is the size of a stored delivery.
type deliverySize struct {
	sequence int64
	bytes    int // of its answer and its body
}

// sizesAfter lists the next deliveries of an endpoint after a sequence.
func (s *Store) sizesAfter(
	ctx context.Context, app rewards.AppID, id rewards.WebhookEndpointID, after int64, limit int,
) ([]deliverySize, error) {
	return readAll(ctx, s, func(row Row) (d deliverySize, err error) {
		err = row.Scan(&d.sequence, &d.bytes)
		return d, err
	}, `SELECT sequence, octet_length(answer) + octet_length(body) FROM webhook_deliveries
		WHERE app_id = ?1 AND endpoint_id = ?2 AND sequence > ?3 ORDER BY sequence LIMIT ?4 + 0`,
		app[:], id[:], after, limit)
}

// cut returns the last sequences of the full parts of a list.
func (p part) cut(list []deliverySize) (ends []int64) {
	left := p
	for _, d := range list {
		left.rows--
		left.bytes -= d.bytes
		if left.rows <= 0 || left.bytes <= 0 {
			ends = append(ends, d.sequence)
			left = p
		}
	}
	return ends
}

// resend is what a change of an endpoint makes of its deliveries after a sequence.
type resend struct {
	after int64
	where string // which of them are changed; "" for none
	set   string // ?5 is dueAtOnce
}

// resendAfter says which deliveries are sent at once after a change. When the endpoint is enabled these are all that
// were not delivered, with all their retries. When its cursor goes back they are those that wait.
func resendAfter(before, e rewards.WebhookEndpoint) resend {
	switch {
	case before.Disabled != "" && e.Disabled == "":
		return resend{
			beforeAll,
			` AND (` + isPending + ` AND (next_at > ?5 OR attempts > 0) OR ` + isFailed + ` AND sequence > 0)`,
			isPending + `, attempts = 0, next_at = ?5`,
		}
	case e.Cursor < before.Cursor:
		return resend{e.Cursor, ` AND ` + isPending + ` AND next_at > ?5`, `next_at = ?5`}
	}
	return resend{}
}

// run changes the deliveries up to a sequence.
func (r resend) run(
	ctx context.Context, tx Tx, app rewards.AppID, id rewards.WebhookEndpointID, last int64,
) error {
	_, err := tx.Exec(ctx, `UPDATE webhook_deliveries SET `+r.set+` WHERE app_id = ?1 AND endpoint_id = ?2
		AND sequence > ?3 AND sequence <= ?4`+r.where, app[:], id[:], r.after, last, dueAtOnce)
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
	_, err = s.eachPart(ctx, app, id, r.after, deliveryPart(), func(after, last int64) error {
		r.after = after
		return s.engine.WritePatiently(ctx, func(ctx context.Context, tx Tx) error {
			return r.run(ctx, tx, app, id, last)
		})
	})
	return err
}

// dropDeliveries disables an endpoint with many deliveries and deletes them, but for the last part.
func (s *Store) dropDeliveries(ctx context.Context, app rewards.AppID, id rewards.WebhookEndpointID) error {
	list, err := s.sizesAfter(ctx, app, id, beforeAll, deliveryPart().rows)
	if err != nil || len(deliveryPart().cut(list)) == 0 {
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
	_, err := s.eachPart(ctx, app, id, beforeAll, deliveryPart(), func(after, last int64) error {
		return s.engine.WritePatiently(ctx, func(ctx context.Context, tx Tx) error {
			_, err := tx.Exec(ctx, `DELETE FROM webhook_deliveries WHERE app_id = ?1 AND endpoint_id = ?2
				AND sequence > ?3 AND sequence <= ?4`, app[:], id[:], after, last)
			return err
		})
	})
	return err
}
