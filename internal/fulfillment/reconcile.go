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

// comparison is what is known of the comparison of the broker's orders with our books.
type comparison struct {
	at      time.Time // ours, of the last one; zero: never in this process
	retryAt time.Time // of one that failed
	failure string    // why the last one failed; "" when it did not
	session time.Time // in which session five days were compared, by its close; zero: never

	// seen is what the list of open orders last showed of orders that were judged, so that
	// only what changes is compared again.
	seen map[string]shown
}

// shown is what of a broker's order can contradict a final one of ours.
type shown struct {
	status string
	filled string
}

func shownOf(b rewards.BrokerOrder) shown { return shown{b.Status, b.FilledQty.String()} }

// reconcile compares the broker's orders that have our prefix with our books: before
// the first order of this process, and every hour. It returns whether orders may be
// placed: when it never succeeded, they may not.
func (w *Worker) reconcile(ctx context.Context) (bool, error) {
	now, done, every := w.now(), !w.compared.at.IsZero(), reconcileEvery
	if w.conflicts > 0 {
		every = reconcileSoon
	}
	if now.Before(w.compared.retryAt) || done && now.Sub(w.compared.at) < every {
		if w.compared.failure != "" {
			w.alarms.raise(rewards.AlarmNotCompared, w.compared.failure)
		}
		return done, nil
	}
	if err := w.compareOrders(ctx); err != nil {
		w.compared.retryAt = now.Add(reconcileRetry)
		w.compared.failure = "the broker's orders could not be compared with our books: " + err.Error()
		w.alarms.raise(rewards.AlarmNotCompared, w.compared.failure)
		return done, err
	}
	w.compared.at, w.compared.failure = now, ""
	return true, nil
}

// compareOrders lists the broker's orders since the last comparison, those of five days
// once in each session, and stores those with our prefix that our books do not know or
// that contradict a final one.
func (w *Worker) compareOrders(ctx context.Context) error {
	clock, err := w.market.Clock(ctx)
	if err != nil {
		return err
	}
	before, err := w.store.ReconciledUntil(ctx)
	if err != nil {
		return err
	}
	session := clock.NextClose
	if !clock.Open {
		session = clock.Now // of no session: the next one compares five days again
	}
	far := w.compared.session.IsZero() || clock.Open && !session.Equal(w.compared.session)
	present := clock.Present(w.now())
	listed, err := w.broker.Orders(ctx, rewards.CompareSince(before, present, far))
	if err != nil {
		return err
	}
	found, _, err := w.contradictions(ctx, w.ours(listed), clock)
	if err == nil {
		err = w.saveConflicts(ctx, found, present)
	}
	if err == nil && far {
		w.compared.session = session
	}
	return err
}

// compareListed compares the orders of a list that was fetched to follow the orders
// under way, but for these, as far as they changed since they were last compared.
func (w *Worker) compareListed(
	ctx context.Context, listed []rewards.BrokerOrder, sent []rewards.Order, clock rewards.MarketClock,
) error {
	followed := make(map[string]bool, len(sent))
	for _, o := range sent {
		followed[o.ClientOrderID] = true
	}
	seen := make(map[string]shown, len(listed))
	var changed []rewards.BrokerOrder
	for _, b := range w.ours(listed) {
		switch before, known := w.compared.seen[b.ClientOrderID]; {
		case followed[b.ClientOrderID]:
		case known && before == shownOf(b):
			seen[b.ClientOrderID] = before
		default:
			changed = append(changed, b)
		}
	}
	w.compared.seen = seen
	if len(changed) == 0 {
		return nil
	}
	found, judged, err := w.contradictions(ctx, changed, clock)
	if err == nil && len(found) > 0 {
		err = w.addConflicts(ctx, found)
	}
	if err != nil {
		return err
	}
	for _, b := range judged {
		seen[b.ClientOrderID] = shownOf(b)
	}
	return nil
}

// addConflicts stores conflicts that were found between two comparisons.
func (w *Worker) addConflicts(ctx context.Context, found []rewards.BrokerConflict) error {
	until, err := w.store.ReconciledUntil(ctx)
	if err != nil {
		return err
	}
	return w.saveConflicts(ctx, found, until)
}

// ours are the orders with our prefix.
func (w *Worker) ours(listed []rewards.BrokerOrder) []rewards.BrokerOrder {
	var ours []rewards.BrokerOrder
	for _, b := range listed {
		if strings.HasPrefix(b.ClientOrderID, w.cfg.Prefix) {
			ours = append(ours, b)
		}
	}
	return ours
}

// contradictions finds those of the broker's orders that contradict our books, and
// returns which were judged: all but the orders of ours that are under way.
func (w *Worker) contradictions(
	ctx context.Context, theirs []rewards.BrokerOrder, clock rewards.MarketClock,
) (found []rewards.BrokerConflict, judged []rewards.BrokerOrder, err error) {
	ids := make([]string, len(theirs))
	for i, b := range theirs {
		ids[i] = b.ClientOrderID
	}
	ours, err := w.store.OrdersByClientID(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	for _, b := range theirs {
		o, known := ours[b.ClientOrderID]
		if known && o.State == rewards.OrderPlanned { // an old backup: it was sent after all
			if _, err := w.store.BeginAttempt(ctx, w.lease, o, w.now(), clock.NextClose); err != nil {
				return nil, nil, err
			}
			w.entered(o.State, rewards.OrderSubmitted)
		}
		if !known || o.State.Final() {
			judged = append(judged, b)
		}
		if detail := rewards.ConflictOf(o, known, b); detail != "" {
			found = append(found, rewards.BrokerConflict{
				ClientOrderID: b.ClientOrderID, Symbol: b.Symbol, FilledQty: b.FilledQty, Detail: detail,
			})
		}
	}
	return found, judged, nil
}

func (w *Worker) saveConflicts(ctx context.Context, found []rewards.BrokerConflict, until time.Time) error {
	if err := w.store.SaveReconciliation(ctx, found, until); err != nil {
		return err
	}
	for _, c := range found {
		w.log.ErrorContext(ctx, "an order at the broker contradicts our books",
			slog.String("client_order_id", c.ClientOrderID), slog.String("detail", c.Detail))
	}
	return nil
}
