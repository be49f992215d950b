package fulfillment

import (
	"context"
	"log/slog"
	"time"

	"stockrewards/internal/rewards"
)

// correctionAlarm is how long a corrected fill has an alarm.
const correctionAlarm = 24 * time.Hour

// noteCorrection notes an activity that corrects a fill, and makes the next comparison due.
func (w *Worker) noteCorrection(n rewards.Activity) {
	if !n.CorrectsFill() || w.actions.confirmed[n.OrderID].ID == n.ID {
		return
	}
	if w.actions.confirmed == nil {
		w.actions.confirmed = make(map[string]rewards.Activity)
	}
	w.actions.confirmed[n.OrderID] = n
	w.compared.session = time.Time{} // five days
	if !w.compared.at.IsZero() {     // the first comparison is still to come
		w.compared.at = w.compared.at.Add(-reconcileEvery)
	}
}

// correct books a fill that the broker has corrected: at once when an activity confirms it, else
// when two comparisons show the same.
func (w *Worker) correct(ctx context.Context, o rewards.Order, b rewards.BrokerOrder) error {
	c := &w.compared
	activity := w.actions.confirmed[b.ID]
	if confirmed := activity.ID != "" && activity.CumQty == b.FilledQty; !confirmed {
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
