package store

import (
	"context"
	"fmt"
	"math"

	"stockrewards/internal/rewards"
)

// EndpointOfAnyApp returns a webhook endpoint, or fails with CodeNotFound. It is for operators.
func (s *Store) EndpointOfAnyApp(
	ctx context.Context, id rewards.WebhookEndpointID,
) (rewards.WebhookEndpoint, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) (rewards.WebhookEndpoint, error) {
		return endpointOfAnyApp(ctx, tx, id)
	})
}

func endpointOfAnyApp(ctx context.Context, tx Tx, id rewards.WebhookEndpointID) (rewards.WebhookEndpoint, error) {
	e, found, err := fetchOne(ctx, tx, scanEndpoint,
		`SELECT `+endpointColumns+` FROM webhook_endpoints WHERE id = ?1`, id[:])
	if err == nil && !found {
		err = errNoEndpoint()
	}
	return e, err
}

// EndpointsOfKey lists the webhook endpoints of a key's app, which whoever had the key could make and change.
func (s *Store) EndpointsOfKey(ctx context.Context, key rewards.KeyID) ([]rewards.WebhookEndpoint, error) {
	return readAll(ctx, s, scanEndpoint, `SELECT `+endpointColumns+` FROM webhook_endpoints
		WHERE app_id = (SELECT app_id FROM keys WHERE id = ?1) ORDER BY id`, key[:])
}

// AddWebhook stores an endpoint with a new id, which gets the events from now on. It fails with
// CodeConflict when the app has one with that URL, and with rewards.ErrTooManyEndpoints.
func (o *Operator) AddWebhook(
	ctx context.Context, e rewards.WebhookEndpoint,
) (rewards.WebhookEndpoint, error) {
	err := o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		var one int
		found, err := fetchValues(ctx, tx, []any{&one},
			`SELECT 1 FROM webhook_endpoints WHERE app_id = ?1 AND url = ?2 LIMIT 1`, e.AppID[:], e.URL)
		if err != nil {
			return nil, err
		}
		if found {
			return nil, conflict("the app has a webhook endpoint with this url")
		}
		e, err = o.insertEndpoint(ctx, tx, e)
		return []rewards.Change{{Object: e.Object(), After: e.Configured()}}, err
	})
	return e, err
}

// EditWebhook changes the types or the description of an endpoint of any app. It fails with CodeNotFound.
func (o *Operator) EditWebhook(
	ctx context.Context, id rewards.WebhookEndpointID, edit rewards.WebhookChange,
) error {
	return o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		found, err := endpointOfAnyApp(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		e, before, err := changeEndpoint(ctx, tx, found.AppID, id, edit.Apply)
		return []rewards.Change{{Object: e.Object(), Before: before.Configured(), After: e.Configured()}}, err
	})
}

// EnableWebhook enables an endpoint of any app. What it did not deliver is due at once, with all retries. It fails with
// CodeNotFound.
func (o *Operator) EnableWebhook(
	ctx context.Context, id rewards.WebhookEndpointID,
) (rewards.WebhookEndpoint, error) {
	e, err := o.EndpointOfAnyApp(ctx, id)
	if err == nil {
		err = o.resendParts(ctx, e.AppID, id, (*rewards.WebhookEndpoint).Enable)
	}
	if err != nil {
		return e, err
	}
	return o.changeWebhook(ctx, o.by.Reason, id, (*rewards.WebhookEndpoint).Enable)
}

// DisableWebhook disables an endpoint of any app, and ends its alarm. It fails with CodeNotFound.
func (o *Operator) DisableWebhook(
	ctx context.Context, id rewards.WebhookEndpointID, reason string,
) (rewards.WebhookEndpoint, error) {
	return o.changeWebhook(ctx, reason, id, func(e *rewards.WebhookEndpoint) { e.DisableFor(reason) })
}

func (o *Operator) changeWebhook(
	ctx context.Context, reason string, id rewards.WebhookEndpointID, change func(*rewards.WebhookEndpoint),
) (e rewards.WebhookEndpoint, err error) {
	err = o.changeFor(ctx, reason, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		found, err := endpointOfAnyApp(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		var before rewards.WebhookEndpoint
		e, before, err = changeEndpoint(ctx, tx, found.AppID, id, change)
		return []rewards.Change{{Object: e.Object(), Before: before.State(), After: e.State()}}, err
	})
	return e, err
}

// RemoveWebhook deletes an endpoint of any app with its deliveries. It disables the endpoint first, so that nothing is
// sent while many deliveries are deleted in parts. When it is interrupted, the next command goes on. It fails with
// CodeNotFound.
func (o *Operator) RemoveWebhook(ctx context.Context, id rewards.WebhookEndpointID) (rewards.WebhookEndpoint, error) {
	disable := func(e *rewards.WebhookEndpoint) { e.DisableFor("it is being deleted") }
	e, err := o.changeWebhook(ctx, o.by.Reason, id, disable)
	if err == nil {
		err = o.dropParts(ctx, e.AppID, id)
	}
	if err != nil {
		return e, err
	}
	return e, o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		if e, err = findEndpoint(ctx, tx, e.AppID, id); err != nil {
			return nil, err
		}
		gone := append(e.Configured(), rewards.Field{Name: "removed", Value: rewards.YesNo(true)})
		err := deleteEndpoint(ctx, tx, e.AppID, id)
		return []rewards.Change{{Object: e.Object(), Before: e.Configured(), After: gone}}, err
	})
}

// RedeliverWebhooks makes the failed deliveries of an endpoint due again, with all their retries, and
// returns how many. event restricts it to one; the zero id does not. It fails with CodeNotFound. When it fails later,
// those that it counted are due.
func (o *Operator) RedeliverWebhooks(
	ctx context.Context, id rewards.WebhookEndpointID, event rewards.EventID,
) (count int64, err error) {
	e, err := o.EndpointOfAnyApp(ctx, id)
	if err != nil {
		return 0, err
	}
	part := func(after, last int64) error {
		n, err := o.redeliverPart(ctx, e, event, after, last)
		count += n
		return err
	}
	after, err := o.eachPart(ctx, e.AppID, id, beforeAll, redeliveryPart(), part)
	if err == nil {
		err = part(after, math.MaxInt64)
	}
	return count, err
}

func (o *Operator) redeliverPart(
	ctx context.Context, e rewards.WebhookEndpoint, event rewards.EventID, after, last int64,
) (count int64, err error) {
	err = o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		all := flag(event.IsZero())
		if count, err = tx.Exec(ctx, `UPDATE webhook_deliveries SET `+isPending+`, attempts = 0, next_at = 0
			WHERE app_id = ?1 AND endpoint_id = ?2 AND sequence > ?5 AND sequence <= ?6 AND `+isFailed+`
			AND (?3 = 1 OR event_id = ?4)`,
			e.AppID[:], e.ID[:], all, event[:], after, last); err != nil || count == 0 {
			return nil, err
		}
		_, before, err := changeEndpoint(ctx, tx, e.AppID, e.ID, func(*rewards.WebhookEndpoint) {})
		state := append(before.State(), rewards.Field{Name: "redelivered", Value: fmt.Sprint(count)})
		return []rewards.Change{{Object: e.Object(), Before: before.State(), After: state}}, err
	})
	return count, err
}
