package fulfillment

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"stockrewards/internal/rewards"
)

// The comparison of the broker's orders with ours.
const (
	reconcileEvery = time.Hour
	reconcileSoon  = time.Minute // while ordering is stopped by what was found
	reconcileRetry = 10 * time.Second
)

// reconcile compares the broker's orders that bear our prefix with our books:
// before the first order of this process, and every hour. It tells whether orders
// may be placed: when it never succeeded, they may not.
func (w *Worker) reconcile(ctx context.Context) (bool, error) {
	now, done, every := w.now(), !w.reconciled.IsZero(), reconcileEvery
	if w.conflicts > 0 {
		every = reconcileSoon
	}
	if now.Before(w.retryAt) || done && now.Sub(w.reconciled) < every {
		if w.uncompared != "" {
			w.alarms.raise(alarmReconcile, w.uncompared)
		}
		return done, nil
	}
	found, until, err := w.compareOrders(ctx)
	if err == nil {
		err = w.store.SaveReconciliation(ctx, found, until)
	}
	if err != nil {
		w.retryAt = now.Add(reconcileRetry)
		w.uncompared = "the broker's orders could not be compared with our books: " + err.Error()
		w.alarms.raise(alarmReconcile, w.uncompared)
		return done, err
	}
	for _, c := range found {
		w.log.ErrorContext(ctx, "an order at the broker contradicts our books",
			slog.String("client_order_id", c.ClientOrderID), slog.String("detail", c.Detail))
	}
	w.reconciled, w.uncompared = now, ""
	return true, nil
}

// compareOrders lists the broker's orders since the last comparison and finds
// those with our prefix that our books do not know or that contradict a final one.
func (w *Worker) compareOrders(ctx context.Context) ([]rewards.BrokerConflict, time.Time, error) {
	clock, err := w.market.Clock(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	before, err := w.store.ReconciledUntil(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	present := clock.Present(w.now())
	listed, err := w.broker.Orders(ctx, rewards.CompareSince(before, present, false))
	if err != nil {
		return nil, time.Time{}, err
	}
	var theirs []rewards.BrokerOrder
	var ids []string
	for _, b := range listed {
		if strings.HasPrefix(b.ClientOrderID, w.cfg.Prefix) {
			theirs, ids = append(theirs, b), append(ids, b.ClientOrderID)
		}
	}
	ours, err := w.store.OrdersByClientID(ctx, ids)
	if err != nil {
		return nil, time.Time{}, err
	}
	var found []rewards.BrokerConflict
	for _, b := range theirs {
		o, known := ours[b.ClientOrderID]
		if known && o.State == rewards.OrderPlanned { // an old backup: it was sent after all
			if _, err := w.store.BeginAttempt(ctx, w.lease, o, w.now(), clock.NextClose); err != nil {
				return nil, time.Time{}, err
			}
			w.entered(o.State, rewards.OrderSubmitted)
		}
		if detail := rewards.ConflictOf(o, known, b); detail != "" {
			found = append(found, rewards.BrokerConflict{
				ClientOrderID: b.ClientOrderID, Symbol: b.Symbol, FilledQty: b.FilledQty, Detail: detail,
			})
		}
	}
	return found, present, nil
}
