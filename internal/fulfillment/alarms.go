package fulfillment

import (
	"context"
	"log/slog"
	"maps"
	"slices"
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
func (a *alarms) raiseOrder(o rewards.Order, now time.Time) {
	if o.State == rewards.OrderQuarantined {
		a.raise(rewards.AlarmOrderQuarantined+o.ID.String(), o.Symbol+": "+o.Reason)
	} else if why := o.Waits(now); why != "" {
		a.raise(rewards.AlarmOrderWaits+o.ID.String(), o.Symbol+": "+why)
	}
}

// end stores what has changed since the last step.
func (a *alarms) end(ctx context.Context, s ControlStore, l rewards.Lease, log *slog.Logger) error {
	if l.Epoch != a.epoch { // the lease was lost during the step
		return nil
	}
	if err := a.read(ctx, s); err != nil {
		return err
	}
	if a.partial {
		all := maps.Clone(a.stored)
		maps.Copy(all, a.now)
		a.now = all
	}
	raised, ended := a.changes()
	if len(raised)+len(ended) == 0 {
		return nil
	}
	if err := s.SaveAlarms(ctx, l, raised, ended); err != nil {
		return err
	}
	for _, alarm := range raised {
		if _, active := a.stored[alarm.Name]; !active { // the message of some changes all the time
			log.WarnContext(ctx, "alarm", slog.String("name", alarm.Name), slog.String("text", alarm.Message))
		}
	}
	for _, name := range ended {
		log.InfoContext(ctx, "alarm cleared", slog.String("name", name))
	}
	a.stored = a.now
	return nil
}

// read reads the stored alarms, if they are not known.
func (a *alarms) read(ctx context.Context, s ControlStore) error {
	if a.stored != nil {
		return nil
	}
	list, err := s.Alarms(ctx)
	if err != nil {
		return err
	}
	a.stored = make(map[string]string, len(list))
	for _, alarm := range list {
		a.stored[alarm.Name] = alarm.Message
	}
	return nil
}

// changes are the alarms that are new or have another message, and the names of those that end.
func (a *alarms) changes() (raised []rewards.Alarm, ended []string) {
	for _, name := range slices.Sorted(maps.Keys(a.now)) { // a run is repeatable
		if before, active := a.stored[name]; !active || before != a.now[name] {
			raised = append(raised, rewards.Alarm{Name: name, Message: a.now[name]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.stored)) {
		if _, active := a.now[name]; !active {
			ended = append(ended, name)
		}
	}
	return raised, ended
}
