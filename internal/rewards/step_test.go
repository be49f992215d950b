package rewards_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// docs/states.md: what follows from each answer to a send, a look-up or a poll.
func TestNext(t *testing.T) {
	t.Parallel()
	now := time.Date(2000, 1, 3, 15, 0, 0, 0, time.UTC)
	clock := rewards.MarketClock{Now: now, Open: true, NextClose: now.Add(6 * time.Hour)}
	sent, report := openOrder()
	sent.Attempts, sent.Deadline, sent.NextAttemptAt, sent.Reason = 3, clock.NextClose, now.Add(time.Minute), "before"
	with := func(o rewards.Order, change func(*rewards.Order)) rewards.Order { change(&o); return o }
	in := func(s rewards.OrderState) rewards.Order {
		return with(sent, func(o *rewards.Order) { o.State = s })
	}
	due := with(sent, func(o *rewards.Order) { o.NextAttemptAt = now })
	future := with(sent, func(o *rewards.Order) { o.NextAttemptAt = now.Add(time.Hour) })
	lost := with(sent, func(o *rewards.Order) { o.Deadline = now.Add(-1) })
	hopeless := with(sent.Unambiguous(), func(o *rewards.Order) { o.RefusedSessions, o.RefusedUntil = 3, now.Add(-1) })
	filled, wrong, far := report, report, report
	filled.Status, filled.FilledQty, filled.FilledAvgPrice = "filled", money.Share, 100_000_000_000
	wrong.Side = "sell"
	far.FilledQty, far.FilledAvgPrice = 1, 1
	fails := func(s rewards.Source, e rewards.BrokerError) rewards.Evidence {
		e.Message = "words"
		return rewards.Evidence{Source: s, Err: &e}
	}
	first := func(e rewards.Evidence) rewards.Evidence { e.First = true; return e }
	priced := func(p rewards.Pricing) rewards.Evidence {
		return rewards.Evidence{Source: rewards.FromSend, Report: far, Levels: []money.Price{100_000_000_000}, Priced: p}
	}
	for name, test := range map[string]struct {
		order  rewards.Order
		e      rewards.Evidence
		kind   rewards.StepKind
		state  rewards.OrderState
		reason string // of the order, or of the rewards
	}{
		"planned":     {order: in(rewards.OrderPlanned), kind: rewards.StepSend},
		"submitted":   {order: sent, kind: rewards.StepPoll},
		"open":        {order: in(rewards.OrderOpen), kind: rewards.StepPoll},
		"resolved":    {in(rewards.OrderResolved), rewards.Evidence{}, rewards.StepSettle, rewards.OrderResolved, "before"},
		"quarantined": {order: in(rewards.OrderQuarantined)},
		"settled":     {order: in(rewards.OrderSettled)},

		"not listed":                {order: sent, e: rewards.Evidence{Source: rewards.NotInList}},
		"not listed, due":           {order: due, e: rewards.Evidence{Source: rewards.NotInList}, kind: rewards.StepLookUp},
		"not listed, clock was off": {order: future, e: rewards.Evidence{Source: rewards.NotInList}, kind: rewards.StepLookUp},

		"listed":        {sent, rewards.Evidence{Source: rewards.FromList, Report: report}, rewards.StepSave, rewards.OrderOpen, ""},
		"filled":        {sent, rewards.Evidence{Source: rewards.FromLookUp, Report: filled}, rewards.StepSettle, rewards.OrderOpen, ""},
		"contradiction": {sent, rewards.Evidence{Source: rewards.FromSend, Report: wrong}, rewards.StepSave, rewards.OrderQuarantined, "side"},
		"far price":     {order: sent, e: priced(rewards.Pricing{At: now.Add(-1), Since: now}), kind: rewards.StepReadPrice},
		"far price, not read": {
			sent, priced(rewards.Pricing{At: now.Add(-1), Since: now, Asked: true}),
			rewards.StepSave, rewards.OrderSubmitted, "cannot be read now",
		},
		"far price, not read for almost a minute": {
			sent, priced(rewards.Pricing{Since: now, Asked: true, Waited: time.Minute - 1}),
			rewards.StepSave, rewards.OrderSubmitted, "cannot be read now",
		},
		"far price, not read for a minute": {
			sent, priced(rewards.Pricing{At: now.Add(-1), Since: now, Asked: true, Waited: time.Minute}),
			rewards.StepSave, rewards.OrderQuarantined, "no price could be read for 1m0s of open market",
		},
		"far price, read again": {
			sent, priced(rewards.Pricing{At: now, Since: now, Asked: true}), rewards.StepSave, rewards.OrderQuarantined, "far from",
		},
		"far price, read beside": {
			sent, priced(rewards.Pricing{At: now.Add(1), Since: now}), rewards.StepSave, rewards.OrderQuarantined, "far from",
		},

		"look-up fails":  {sent, fails(rewards.FromLookUp, rewards.BrokerError{}), rewards.StepSave, rewards.OrderSubmitted, "could not be asked"},
		"not found":      {order: sent, e: fails(rewards.FromLookUp, rewards.BrokerError{Kind: rewards.BrokerNotFound}), kind: rewards.StepSend},
		"lost":           {lost, fails(rewards.FromLookUp, rewards.BrokerError{Kind: rewards.BrokerNotFound}), rewards.StepSave, rewards.OrderQuarantined, "after the close"},
		"lost, no reply": {lost, fails(rewards.FromLookUp, rewards.BrokerError{}), rewards.StepSave, rewards.OrderSubmitted, "could not be asked"},
		"hopeless":       {hopeless, fails(rewards.FromLookUp, rewards.BrokerError{Kind: rewards.BrokerNotFound}), rewards.StepSave, rewards.OrderQuarantined, "in 3 sessions"},
		"open vanishes": {
			in(rewards.OrderOpen), fails(rewards.FromLookUp, rewards.BrokerError{Kind: rewards.BrokerNotFound}),
			rewards.StepSave, rewards.OrderOpen, "does not find it now",
		},

		"duplicate":            {order: sent, e: fails(rewards.FromSend, rewards.BrokerError{Kind: rewards.BrokerDuplicate}), kind: rewards.StepLookUp},
		"duplicate, not shown": {sent, fails(rewards.FromDuplicate, rewards.BrokerError{Kind: rewards.BrokerNotFound}), rewards.StepSave, rewards.OrderSubmitted, "does not show it yet"},
		"refused": {
			order: sent, e: first(fails(rewards.FromSend, rewards.BrokerError{Kind: rewards.BrokerRefused})),
			kind: rewards.StepRefuse, reason: "order_refused: words",
		},
		"refused, no proof": {
			sent, fails(rewards.FromSend, rewards.BrokerError{Kind: rewards.BrokerRefused, Code: "code"}),
			rewards.StepSave, rewards.OrderSubmitted, "code: words",
		},
		"never left": {sent, fails(rewards.FromSend, rewards.BrokerError{Kind: rewards.BrokerWait, Code: rewards.NotSent}), rewards.StepSave, rewards.OrderSubmitted, "before"},
		"unknown":    {sent, fails(rewards.FromSend, rewards.BrokerError{}), rewards.StepSave, rewards.OrderSubmitted, "is unknown"},
		"not typed":  {sent, rewards.Evidence{Source: rewards.FromSend, Err: errors.New("cut")}, rewards.StepSave, rewards.OrderSubmitted, "unknown: cut"},

		"braked":          {sent, rewards.Evidence{Source: rewards.FromBrakes}, rewards.StepSave, rewards.OrderSubmitted, "before"},
		"braked, planned": {order: in(rewards.OrderPlanned), e: rewards.Evidence{Source: rewards.FromBrakes}},
		"not booked": {
			in(rewards.OrderOpen),
			rewards.Evidence{Source: rewards.FromBooking, Err: fmt.Errorf("holding: %w", money.ErrOverflow)},
			rewards.StepSave, rewards.OrderQuarantined, "cannot be booked: holding: too large",
		},
		"half bought": {
			in(rewards.OrderOpen),
			rewards.Evidence{Source: rewards.FromBooking, Err: rewards.ErrHalfBought},
			rewards.StepSave, rewards.OrderQuarantined, "cannot be booked: ",
		},
		"not booked yet": {order: in(rewards.OrderOpen), e: rewards.Evidence{Source: rewards.FromBooking, Err: errors.New("trigger")}},
	} {
		test.e.Now, test.e.Clock = now, clock
		got := test.order.Next(test.e)
		reason := got.Order.Reason + got.Reason
		if got.Kind != test.kind || got.Order.State != test.state || !strings.Contains(reason, test.reason) || test.reason == "" && reason != "" {
			t.Errorf("%s: got step %d, state %s, reason %q; want %d, %s, %q",
				name, got.Kind, got.Order.State, reason, test.kind, test.state, test.reason)
		}
	}
}

// A wait answer ends the doubt about the order only when no earlier send is in doubt, and counts
// a session only when the refusal lasts.
func TestNextAfterAWait(t *testing.T) {
	t.Parallel()
	now := time.Now()
	o, _ := openOrder()
	o.Deadline = now.Add(time.Hour)
	for _, test := range []struct {
		first, lasting bool
		ambiguous      bool
		sessions       int
	}{{true, false, false, 0}, {true, true, false, 1}, {false, true, true, 0}} {
		got := o.Next(rewards.Evidence{
			Source: rewards.FromSend, First: test.first, Now: now, Clock: rewards.MarketClock{NextClose: now.Add(time.Hour)},
			Err: &rewards.BrokerError{Kind: rewards.BrokerWait, Code: "forbidden", Lasting: test.lasting},
		}).Order
		if got.Ambiguous() != test.ambiguous || got.RefusedSessions != test.sessions || got.Reason != "forbidden: " {
			t.Errorf("%+v: ambiguous %t, refused in %d sessions, reason %q", test, got.Ambiguous(), got.RefusedSessions, got.Reason)
		}
	}
}
