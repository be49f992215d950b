package fulfillment

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"stockrewards/internal/rewards"
)

// How often the broker's orders are compared with ours.
const (
	reconcileEvery = time.Hour
	reconcileSoon  = time.Minute // while a conflict stops ordering, or something may still change
	reconcileRetry = 10 * time.Second
	reconcileDoubt = 10 * time.Minute // comparisons come soon, after our books lost orders
)

// comparison is what the worker knows of the comparison of the broker's orders with ours.
type comparison struct {
	at      time.Time // ours, of the last one; zero: never in this process
	epoch   int64     // of the lease under which that was
	retryAt time.Time // of one that failed, or that must wait
	doubted time.Time // until then orders may arrive at the broker that our books lost
	failure string    // why the last one failed; "" when it succeeded
	session time.Time // the close of the session in which five days were last compared; zero: never

	// seen is how the last list of orders showed those that were judged, so that only changes
	// are judged again.
	seen map[string]shown

	// corrected are fills that the broker shows otherwise than they are booked.
	corrected map[string]corrected
	// reported are the corrections that activities reported lately, by the broker's id of the order.
	reported map[string]reported
}

// lost notes that our books may have lost orders of days, some of which are on their way to the broker. The first
// comparison waits for them; those that arrive later are found soon.
func (c *comparison) lost(now time.Time) {
	c.retryAt, c.doubted, c.session = now.Add(callPatience), now.Add(reconcileDoubt), time.Time{}
}

// corrected is a changed fill that must be shown twice, or confirmed by an activity, before it is
// booked.
type corrected struct {
	filled string
	since  time.Time // ours
}

// shown is what of a broker's order can contradict a final order.
type shown struct {
	status string
	filled string
}

func shownOf(b rewards.BrokerOrder) shown { return shown{b.Status, b.FilledQty.String()} }

// reconcile compares the broker's orders that have our prefix with ours: before the first order
// of each epoch, and every hour. It reports whether orders may be placed, which needs one
// comparison that succeeded: others led since, or another server took over that has lost orders.
func (w *Worker) reconcile(ctx context.Context) (bool, error) {
	now, every := w.now(), reconcileEvery
	done := !w.compared.at.IsZero() && w.compared.epoch == w.lease.Epoch
	if w.conflicts > 0 || len(w.compared.corrected) > 0 || w.compared.awaits(now) || now.Before(w.compared.doubted) {
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
		w.compared.failure = "cannot compare the broker's orders with our books: " + err.Error()
		w.alarms.raise(rewards.AlarmNotCompared, w.compared.failure)
		return done, err
	}
	w.compared.at, w.compared.epoch, w.compared.failure = now, w.lease.Epoch, ""
	return true, nil
}

// compareFirst compares, and reads the conflicts, before a new leader judges actions: orders that our books lack may
// explain a position.
func (w *Worker) compareFirst(ctx context.Context) error {
	compared, err := w.reconcile(ctx)
	if err != nil || !compared {
		return err
	}
	control, err := w.store.Control(ctx)
	if err == nil {
		w.conflicts, w.conflictsEpoch = control.Conflicts, w.lease.Epoch
	}
	return err
}

// compareOrders compares the broker's orders since the last comparison, once in each session those of five days, and
// older ones of which an activity reports a correction. It stores those with our prefix that are unknown to us or
// contradict a final order.
func (w *Worker) compareOrders(ctx context.Context) error {
	clock, err := w.clock(ctx)
	if err != nil {
		return err
	}
	before, err := w.store.ReconciledUntil(ctx)
	if err != nil {
		return err
	}
	session := clock.NextClose
	if !clock.Open {
		session = clock.Now // matches no session: the next one compares five days again
	}
	far := w.compared.session.IsZero() || len(w.compared.corrected) > 0 ||
		clock.Open && !session.Equal(w.compared.session)
	present := clock.Present(w.now())
	listed, err := w.orders(ctx, rewards.CompareSince(before, present, far))
	if err != nil {
		return err
	}
	listed, err = w.addCorrected(ctx, listed)
	if err != nil {
		return err
	}
	found, _, err := w.contradictions(ctx, w.ours(listed), clock)
	if err == nil {
		err = w.saveConflicts(ctx, found, present)
	}
	if err != nil {
		return err
	}
	w.compareReported(listed)
	if far {
		w.compared.session = session
	}
	return nil
}

// compareListed compares the orders of a poll, except the polled ones, as far as they changed
// since they were last compared.
func (w *Worker) compareListed(
	ctx context.Context, listed []rewards.BrokerOrder, polled []rewards.Order, clock rewards.MarketClock,
) error {
	skip := make(map[string]bool, len(polled))
	for _, o := range polled {
		skip[o.ClientOrderID] = true
	}
	seen := make(map[string]shown, len(listed))
	var changed []rewards.BrokerOrder
	for _, b := range w.ours(listed) {
		switch before, known := w.compared.seen[b.ClientOrderID]; {
		case skip[b.ClientOrderID]:
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

// isOurs reports whether the order has our prefix.
func (w *Worker) isOurs(b rewards.BrokerOrder) bool {
	return strings.HasPrefix(b.ClientOrderID, w.cfg.Prefix)
}

// ours are the orders with our prefix.
func (w *Worker) ours(listed []rewards.BrokerOrder) []rewards.BrokerOrder {
	var ours []rewards.BrokerOrder
	for _, b := range listed {
		if w.isOurs(b) {
			ours = append(ours, b)
		}
	}
	return ours
}

// lookUpPart is how many of the broker's orders are looked up at once. The leader renews its lease between two parts.
const lookUpPart = 500

// contradictions returns the broker's orders that contradict ours. Judged are all but our orders
// that are not final.
func (w *Worker) contradictions(
	ctx context.Context, theirs []rewards.BrokerOrder, clock rewards.MarketClock,
) (found []rewards.BrokerConflict, judged []rewards.BrokerOrder, err error) {
	for part := range slices.Chunk(theirs, lookUpPart) {
		w.heartbeat()
		if err := w.stillLeads(ctx); err != nil {
			return nil, nil, err
		}
		ids := make([]string, len(part))
		for i, b := range part {
			ids[i] = b.ClientOrderID
		}
		ours, err := w.store.OrdersByClientID(ctx, ids)
		if err != nil {
			return nil, nil, err
		}
		for _, b := range part {
			o, known := ours[b.ClientOrderID]
			detail, err := w.contradicts(ctx, b, o, known, clock)
			if err != nil {
				return nil, nil, err
			}
			if !known || o.State.Final() {
				judged = append(judged, b)
			}
			if detail != "" {
				found = append(found, rewards.BrokerConflict{
					ClientOrderID: b.ClientOrderID, Symbol: b.Symbol, FilledQty: b.FilledQty, Detail: detail,
				})
			}
		}
	}
	return found, judged, nil
}

// contradicts says how the broker's order contradicts ours; "" when it does not. It books what it corrects.
func (w *Worker) contradicts(
	ctx context.Context, b rewards.BrokerOrder, o rewards.Order, known bool, clock rewards.MarketClock,
) (detail string, err error) {
	if known && o.State == rewards.OrderPlanned { // sent after this backup was made
		if _, err := w.store.BeginAttempt(ctx, w.lease, o, w.now(), clock.NextClose); err != nil {
			return "", err
		}
		w.entered(o.State, rewards.OrderSubmitted)
	}
	if known && o.Corrects(b) {
		return "", w.correct(ctx, o, b)
	}
	delete(w.compared.corrected, b.ClientOrderID)
	return rewards.ConflictOf(o, known, b), nil
}

func (w *Worker) saveConflicts(ctx context.Context, found []rewards.BrokerConflict, until time.Time) error {
	if err := w.store.SaveReconciliation(ctx, w.lease, found, until); err != nil {
		return err
	}
	if len(found) == 0 {
		return nil
	}
	all, err := w.store.Conflicts(ctx)
	for _, c := range all {
		if c.AcknowledgedAt.IsZero() {
			w.log.ErrorContext(ctx, "an order at the broker contradicts our books",
				slog.String("client_order_id", c.ClientOrderID), slog.String("detail", c.Detail))
		}
	}
	return err
}
