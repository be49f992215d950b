package fulfillment

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"stockrewards/internal/rewards"
)

// correctionAlarm is how long a corrected fill has an alarm.
const correctionAlarm = 24 * time.Hour

// reportedFor is how long a reported correction is kept. The activities of the last minutes are read repeatedly.
const reportedFor = 24 * time.Hour

// reported is a correction of a fill that an activity reports.
type reported struct {
	rewards.Activity
	at   time.Time // ours, when it was read
	done bool      // it was compared with our books, or it is about another program's order
}

// awaits reports whether reported corrections are still to be compared.
func (c *comparison) awaits() bool {
	for _, r := range c.reported {
		if !r.done {
			return true
		}
	}
	return false
}

// noteCorrection notes an activity that corrects a fill, and makes the next comparison due.
func (w *Worker) noteCorrection(n rewards.Activity) {
	c := &w.compared
	if _, known := c.reported[n.ID]; known || !n.CorrectsFill() {
		return
	}
	if c.reported == nil {
		c.reported = make(map[string]reported)
	}
	c.reported[n.ID] = reported{Activity: n, at: w.now()}
	c.session = time.Time{} // five days
	if !c.at.IsZero() {     // the first comparison is still to come
		c.at = c.at.Add(-reconcileEvery)
	}
}

// addCorrected adds the orders of reported corrections that a list lacks, because they are older. Those for which the
// rate limit has no room now come with the next comparison.
func (w *Worker) addCorrected(ctx context.Context, listed []rewards.BrokerOrder) ([]rewards.BrokerOrder, error) {
	has := make(map[string]bool)
	for _, b := range listed {
		has[b.ID] = true
	}
	for id, r := range w.compared.reported {
		if r.done || has[r.OrderID] || !w.ready() {
			continue
		}
		w.heartbeat()
		if err := w.stillLeads(ctx); err != nil {
			return nil, err
		}
		b, err := w.broker.OrderByID(ctx, r.OrderID)
		switch {
		case rewards.BrokerKindOf(err) == rewards.BrokerNotFound:
			r.done = true
			w.compared.reported[id] = r
		case err != nil:
			return nil, err
		default:
			has[b.ID] = true
			listed = append(listed, b)
		}
	}
	return listed, nil
}

// compareReported notes which reported corrections have been compared with our books, and forgets old ones. A
// correction that the broker's order does not show yet is compared again.
func (w *Worker) compareReported(listed []rewards.BrokerOrder) {
	shown := make(map[string]rewards.BrokerOrder)
	for _, b := range listed {
		shown[b.ID] = b
	}
	for id, r := range w.compared.reported {
		b, known := shown[r.OrderID]
		if known && (b.FilledQty == r.CumQty || !strings.HasPrefix(b.ClientOrderID, w.cfg.Prefix)) {
			r.done = true
		}
		w.compared.reported[id] = r
		if w.now().Sub(r.at) > reportedFor {
			delete(w.compared.reported, id)
		}
	}
}

// confirmed returns the activity that reports what the broker's order shows. Its ID is "" without one.
func (c *comparison) confirmed(b rewards.BrokerOrder) rewards.Activity {
	for _, r := range c.reported {
		if r.OrderID == b.ID && r.CumQty == b.FilledQty {
			return r.Activity
		}
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
