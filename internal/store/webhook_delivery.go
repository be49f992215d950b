package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"stockrewards/internal/rewards"
)

// The states of a delivery in SQL, and that it is of a test event. They are no parameters: the indexes are of pending
// deliveries and of pending tests.
const (
	isPending   = `status = 1`
	isDelivered = `status = 2`
	isFailed    = `status = 3`
	isTest      = `sequence < 0`
)

// These indexes are valid as long as the states are 1, 2 and 3.
var (
	_ = [1]int{}[rewards.DeliveryPending-1]
	_ = [1]int{}[rewards.DeliveryDelivered-2]
	_ = [1]int{}[rewards.DeliveryFailed-3]
)

// dueAtOnce is the next_at of a pending delivery that waits for nothing, as is 0. It takes as many bytes as any later
// time. So SQLite changes a row to it, and then to the time of a retry, without writing its body again.
const dueAtOnce = int64(1) << 47

const deliveryColumns = `app_id, endpoint_id, sequence, event_id, type, number, status, attempts, status_code, error,
	answer, tried_at, next_at, body`

func scanDelivery(row Row) (d rewards.Delivery, err error) {
	err = row.Scan(toID(&d.AppID), toID(&d.EndpointID), &d.Sequence, toID(&d.EventID), &d.Type, &d.Number,
		(*int)(&d.Status), &d.Attempts, &d.StatusCode, &d.Error, &d.Answer, toTime{&d.TriedAt}, toTime{&d.NextAt},
		toBytes{&d.Body})
	if micros(d.NextAt) == dueAtOnce {
		d.NextAt = time.Time{}
	}
	return d, err
}

func deliveryRow(d rewards.Delivery) []any {
	return []any{
		d.AppID[:], d.EndpointID[:], d.Sequence, d.EventID[:], d.Type, d.Number, int64(d.Status), int64(d.Attempts),
		int64(d.StatusCode), d.Error, d.Answer, micros(d.TriedAt), micros(d.NextAt), append([]byte{}, d.Body...),
	}
}

// saveDeliveries inserts or replaces deliveries.
func saveDeliveries(ctx context.Context, tx Tx, list []rewards.Delivery) error {
	return insertDeliveries(ctx, tx, list, ` DO UPDATE SET number = excluded.number,
		status = excluded.status, attempts = excluded.attempts, status_code = excluded.status_code,
		error = excluded.error, answer = excluded.answer, tried_at = excluded.tried_at, next_at = excluded.next_at,
		body = excluded.body`)
}

// addDeliveries inserts the deliveries that are not stored.
func addDeliveries(ctx context.Context, tx Tx, list []rewards.Delivery) error {
	return insertDeliveries(ctx, tx, list, ` DO NOTHING`)
}

func insertDeliveries(ctx context.Context, tx Tx, list []rewards.Delivery, orElse string) error {
	rows := make([][]any, len(list))
	for i, d := range list {
		rows[i] = deliveryRow(d)
	}
	orElse = ` ON CONFLICT (app_id, endpoint_id, sequence)` + orElse
	_, err := execRows(ctx, tx, `INSERT INTO webhook_deliveries (`+deliveryColumns+`)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)`+orElse,
		`INSERT INTO webhook_deliveries (`+deliveryColumns+`) SELECT * FROM unnest(?1::bytea[], ?2::bytea[],
		?3::bigint[], ?4::bytea[], ?5::text[], ?6::bigint[], ?7::bigint[], ?8::bigint[], ?9::bigint[], ?10::text[],
		?11::text[], ?12::bigint[], ?13::bigint[], ?14::bytea[])`+orElse, rows)
	return err
}

// AddWebhookTest implements rewards.WebhookStore.
func (s *Store) AddWebhookTest(
	ctx context.Context, app rewards.AppID, id rewards.WebhookEndpointID,
) (rewards.EventID, error) {
	now := s.now().UnixMicro()
	d := rewards.Delivery{
		AppID: app, EndpointID: id, EventID: rewards.NewID[rewards.Event](s.ids), Type: rewards.TypePing,
		Number: now, Status: rewards.DeliveryPending,
	}
	err := s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := findEndpoint(ctx, tx, app, id); err != nil {
			return err
		}
		waiting, lowest := 0, int64(0)
		if _, err := fetchValues(ctx, tx, []any{&waiting}, `SELECT count(*) FROM webhook_deliveries
			WHERE app_id = ?1 AND endpoint_id = ?2 AND `+isPending+` AND `+isTest, app[:], id[:]); err != nil {
			return err
		}
		if waiting >= rewards.MaxPendingTests {
			return rewards.ErrTooManyTests()
		}
		if _, err := fetchValues(ctx, tx, []any{&lowest}, `SELECT sequence FROM webhook_deliveries
			WHERE app_id = ?1 AND endpoint_id = ?2 ORDER BY sequence LIMIT 1`, app[:], id[:]); err != nil {
			return err
		}
		d.Sequence = min(lowest, 0) - 1
		if err := saveDeliveries(ctx, tx, []rewards.Delivery{d}); err != nil {
			return err
		}
		return countChange(ctx, tx)
	})
	return d.EventID, err
}

// Deliveries implements rewards.WebhookStore.
func (s *Store) Deliveries(
	ctx context.Context, app rewards.AppID, id rewards.WebhookEndpointID, p rewards.DeliveryPage,
) ([]rewards.Delivery, error) {
	if p.Before == (rewards.DeliveryPlace{}) {
		p.Before.Number = math.MaxInt64
	}
	return readOf(ctx, s, app, func(ctx context.Context, tx Tx) (list []rewards.Delivery, err error) {
		if _, err := findEndpoint(ctx, tx, app, id); err != nil {
			return nil, err
		}
		for status := rewards.DeliveryPending; status <= rewards.DeliveryFailed; status++ {
			if p.Status != 0 && p.Status != status {
				continue
			}
			part, err := fetchAll(ctx, tx, scanDelivery, `SELECT `+deliveryColumns+` FROM webhook_deliveries
				WHERE app_id = ?1 AND endpoint_id = ?2 AND status = ?3 AND (number, sequence) < (?4, ?5)
				ORDER BY number DESC, sequence DESC LIMIT ?6 + 0`,
				app[:], id[:], int64(status), p.Before.Number, p.Before.Sequence, p.Limit)
			if err != nil {
				return nil, err
			}
			list = append(list, part...)
		}
		slices.SortFunc(list, func(a, b rewards.Delivery) int {
			return cmp.Or(cmp.Compare(b.Number, a.Number), cmp.Compare(b.Sequence, a.Sequence))
		})
		return list[:min(len(list), p.Limit)], nil
	})
}
