package fulfillment

import (
	"context"
	"log/slog"
	"time"

	"stockrewards/internal/rewards"
)

// correctionAlarm is how long a corrected fill has an alarm.
const correctionAlarm = 24 * time.Hour

const (
	// reportedFor is how long a reported correction is kept: its activity is read again for some minutes, and the
	// broker's order may show it later.
	reportedFor = 24 * time.Hour
	// mostReported bounds the reported corrections that are kept.
	mostReported = 10_000
	// mostLookUps is how many of their orders a comparison looks up. The next one, a minute later, has the others.
	mostLookUps = 5
)

// reported is the newest correction of an order's fill that an activity reports.
type reported struct {
	rewards.Activity
	at   time.Time // ours, when it was read
	done bool      // it was compared with our books, or it is about another program's order
}

// awaits reports whether reported corrections are still to be compared. It forgets old ones.
func (c *comparison) awaits(now time.Time) bool {
	waits := false
	for id, r := range c.reported {
		if now.Sub(r.at) > reportedFor {
			delete(c.reported, id)
			continue
		}
		waits = waits || !r.done
	}
	return waits
}

// noteCorrection notes an activity that corrects a fill, and makes the next comparison due.
func (w *Worker) noteCorrection(ctx context.Context, n rewards.Activity) {
	c := &w.compared
	before, known := c.reported[n.OrderID]
	if !n.CorrectsFill() || known && !n.Follows(before.Activity) {
		return
	}
	if !known && len(c.reported) >= mostReported {
		w.log.WarnContext(ctx, "too many corrected fills: of this one only the comparisons learn",
			slog.String("order", n.OrderID), slog.String("activity", n.ID))
		return
	}
	if c.reported == nil {
		c.reported = make(map[string]reported)
	}
	c.reported[n.OrderID] = reported{Activity: n, at: w.now()}
	c.session = time.Time{} // five days
	if !c.at.IsZero() {     // the first comparison is still to come
		c.at = c.at.Add(-reconcileEvery)
	}
}

// addCorrected adds the orders of reported corrections that a list lacks, because they are older. One that cannot be
// read now is looked up again by a later comparison: it stops none.
func (w *Worker) addCorrected(ctx context.Context, listed []rewards.BrokerOrder) ([]rewards.BrokerOrder, error) {
	has := make(map[string]bool)
	for _, b := range listed {
		has[b.ID] = true
	}
	within, cancel := context.WithTimeout(ctx, pagePatience)
	defer cancel()
	asked := 0
	for id, r := range w.compared.reported {
		if r.done || has[id] || asked == mostLookUps || within.Err() != nil || !w.ready() {
			continue
		}
		asked++
		w.heartbeat()
		b, err := ask(within, w, func(ctx context.Context) (rewards.BrokerOrder, error) {
			return w.broker.OrderByID(ctx, id)
		})
		if err != nil {
			w.log.WarnContext(ctx, "cannot read an order whose fill was corrected, will retry",
				slog.String("order", id), slog.Any("error", err))
			continue
		}
		listed = append(listed, b)
	}
	if asked == 0 {
		return listed, nil
	}
	return listed, w.stillLeads(ctx)
}

// compareReported notes which reported corrections have been compared with our books. A correction that the broker's
// order does not show yet is compared again.
func (w *Worker) compareReported(listed []rewards.BrokerOrder) {
	for _, b := range listed {
		r, known := w.compared.reported[b.ID]
		if known && (b.FilledQty == r.CumQty || !w.isOurs(b)) {
			r.done = true
			w.compared.reported[b.ID] = r
		}
	}
}

// confirmed returns the activity that reports what the broker's order shows. Its ID is "" without one.
func (c *comparison) confirmed(b rewards.BrokerOrder) rewards.Activity {
	if r := c.reported[b.ID]; r.CumQty == b.FilledQty {
		return r.Activity
	}
	return rewards.Activity{}
}

// correct books a fill that the broker has corrected: at once when an activity confirms it, else
// when two comparisons show the same.
func (w *Worker) correct(ctx context.Context, o rewards.Order, b rewards.BrokerOrder) error {
	c := &w.compared
	activity := c.confirmed(b)
	if activity.ID == "" {
		seen := c.corrected[o.ClientOrderID]
		if seen.filled != b.FilledQty.String() {
			if c.corrected == nil {
				c.corrected = make(map[string]corrected)
			}
			c.corrected[o.ClientOrderID] = corrected{b.FilledQty.String(), w.now()}
			return nil
		}
		if w.now().Sub(seen.since) < rewards.TerminalWait {
			return nil
		}
	}
	delete(c.corrected, o.ClientOrderID)
	w.log.ErrorContext(ctx, "the broker corrected a fill that is booked",
		slog.String("client_order_id", o.ClientOrderID), slog.String("booked", o.Corrected.String()),
		slog.String("corrected", b.FilledQty.String()))
	w.actions.openAt = time.Time{}
	return w.store.CorrectOrder(ctx, w.lease, o, b, activity.ID)
}

// raiseCorrections raises the alarms of corrected fills.
func (w *Worker) raiseCorrections() {
	for _, c := range w.actions.corrections {
		w.alarms.raise(rewards.AlarmFillCorrected+c.ClientOrderID, "the broker corrected the fill of "+c.Symbol+" to "+
			c.FilledQty.String()+" shares; users keep theirs, the house's shares changed by "+c.Change.String())
	}
}
