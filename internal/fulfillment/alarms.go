package fulfillment

import (
	"context"
	"log/slog"
	"maps"

	"stockrewards/internal/rewards"
)

// alarms are the conditions that stand at the end of a step. Those of the step
// before that do not stand any more are cleared.
type alarms struct {
	standing map[string]string // as stored; nil before the first step
	now      map[string]string
	partial  bool // not everything was looked at: what is not raised may still stand
}

func (a *alarms) begin() { a.now, a.partial = make(map[string]string), false }

// raise notes a condition of this step.
func (a *alarms) raise(name, message string) { a.now[name] = message }

// end stores what has changed since the last step.
func (a *alarms) end(ctx context.Context, s ControlStore, log *slog.Logger) error {
	if a.standing == nil {
		stored, err := s.Alarms(ctx)
		if err != nil {
			return err
		}
		a.standing = make(map[string]string, len(stored))
		for _, alarm := range stored {
			a.standing[alarm.Name] = alarm.Message
		}
	}
	if a.partial {
		before := maps.Clone(a.standing)
		maps.Copy(before, a.now)
		a.now = before
	}
	if maps.Equal(a.standing, a.now) {
		return nil
	}
	for name, message := range a.now {
		if before, stands := a.standing[name]; stands && before == message {
			continue
		}
		if err := s.RaiseAlarm(ctx, name, message); err != nil {
			return err
		}
		log.WarnContext(ctx, "alarm", slog.String("name", name), slog.String("text", message))
	}
	for name := range a.standing {
		if _, stands := a.now[name]; stands {
			continue
		}
		if err := s.ClearAlarm(ctx, name); err != nil {
			return err
		}
		log.InfoContext(ctx, "alarm cleared", slog.String("name", name))
	}
	a.standing = a.now
	return nil
}

// orderAlarms notes the conditions that the live orders themselves tell of.
func (a *alarms) orderAlarms(live []rewards.Order) {
	for _, o := range live {
		switch {
		case o.State == rewards.OrderQuarantined:
			a.raise(rewards.AlarmOrderQuarantined+o.ID.String(), o.Symbol+": "+o.Reason)
		case o.State != rewards.OrderResolved && o.Reason != "":
			a.raise(rewards.AlarmOrderWaits+o.ID.String(), o.Symbol+": "+o.Reason)
		}
	}
}
