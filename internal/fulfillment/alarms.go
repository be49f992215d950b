package fulfillment

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"stockrewards/internal/rewards"
)

// alarms are the messages of the alarms by name. A step raises each whose condition holds; the
// others are cleared at its end.
type alarms struct {
	epoch   int64             // of the lease under which stored was read
	readAt  time.Time         // when stored was read
	stored  map[string]string // nil: not read yet
	now     map[string]string
	partial bool // the step did not look at everything: alarms that it did not raise stay
}

// rereadAlarms is after what time the stored alarms are read again: a process that starts may have raised one.
const rereadAlarms = time.Minute

func (a *alarms) begin(epoch int64, now time.Time) {
	if a.epoch != epoch || now.Sub(a.readAt) >= rereadAlarms { // another process may have led since
		a.stored, a.readAt = nil, now
	}
	a.epoch, a.now, a.partial = epoch, make(map[string]string), false
}

// raise notes a condition of this step.
func (a *alarms) raise(name, message string) { a.now[name] = message }

// raiseOrder raises the alarm of an order that is quarantined or waits.
func (a *alarms) raiseOrder(o rewards.Order) {
	switch {
	case o.State == rewards.OrderQuarantined:
		a.raise(rewards.AlarmOrderQuarantined+o.ID.String(), o.Symbol+": "+o.Reason)
	case o.State != rewards.OrderResolved && o.Reason != "":
		a.raise(rewards.AlarmOrderWaits+o.ID.String(), o.Symbol+": "+o.Reason)
	}
}

// end stores what has changed since the last step.
func (a *alarms) end(ctx context.Context, s ControlStore, log *slog.Logger) error {
	if a.stored == nil {
		list, err := s.Alarms(ctx)
		if err != nil {
			return err
		}
		a.stored = make(map[string]string, len(list))
		for _, alarm := range list {
			a.stored[alarm.Name] = alarm.Message
		}
	}
	if a.partial {
		all := maps.Clone(a.stored)
		maps.Copy(all, a.now)
		a.now = all
	}
	for name, message := range a.now {
		before, active := a.stored[name]
		if active && before == message {
			continue
		}
		if err := s.RaiseAlarm(ctx, name, message); err != nil {
			return err
		}
		if active { // the text of some changes all the time
			continue
		}
		log.WarnContext(ctx, "alarm", slog.String("name", name), slog.String("text", message))
	}
	for name := range a.stored {
		if _, active := a.now[name]; active {
			continue
		}
		if err := s.ClearAlarm(ctx, name); err != nil {
			return err
		}
		log.InfoContext(ctx, "alarm cleared", slog.String("name", name))
	}
	a.stored = a.now
	return nil
}
