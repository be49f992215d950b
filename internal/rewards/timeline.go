package rewards

import (
	"context"
	"fmt"
	"time"

	"stockrewards/internal/money"
)

// History is everything that the store knows about how a reward was bought.
type History struct {
	Reward     Reward
	App        App
	Asset      Asset
	Orders     []Ordered    // oldest first
	Stood      []Standstill // of the reward's stock or of all, while it was open, oldest first
	CanceledAt time.Time    // of the reward; zero: it was not, or an early version did it
	Control    Control
	Blocked    bool      // an order of the stock is quarantined
	Pool       money.USD // that waits for the stock; 0 unless the pool is small
	Led        bool      // a process leads fulfillment
	Now        time.Time
}

// Ordered is a reward's part in an order.
type Ordered struct {
	Order

	Carried money.USD // of the reward's amount
	Bought  Allocation
}

// TimelineEntry is one thing that happened to a reward, or what it waits for (additions, section 6).
type TimelineEntry struct {
	At      time.Time
	Type    string
	Message string
	Order   *Ordered // that it is about; nil: none
}

// The types of entries.
const (
	TimelineRecorded = "recorded"
	TimelineWaited   = "waited"  // it was not ordered for a while
	TimelineOrdered  = "ordered" // it was put into an order
	TimelineSent     = "sent"
	TimelineAnswered = "answered"
	TimelineFilled   = "filled"
	TimelineRefused  = "refused"
	TimelineExecuted = "executed"
	TimelineFailed   = "failed"
	TimelineCanceled = "canceled"
	TimelineWaiting  = "waiting" // the last entry of a reward that is not final
)

// Timeline returns what happened to the reward, oldest first. Until it is final, the last entry
// says what it waits for. Nothing in it is of another app, apart from the sums of orders and of a
// pool below the broker's minimum.
func (h History) Timeline() []TimelineEntry {
	t := timeline{}
	created := h.Reward.CreatedAt()
	t.add(created, TimelineRecorded, dollars(h.Reward.Amount)+" of "+h.Reward.Symbol+" was recorded", nil)
	open := created
	for i := range h.Orders {
		o := &h.Orders[i]
		h.addStood(&t, open, o.CreatedAt())
		t.addOrder(o)
		open = o.SettledAt
	}
	switch h.Reward.Status {
	case Executed:
		t.add(h.Reward.ExecutedAt, TimelineExecuted, h.got(), nil)
	case Failed:
		kind := TimelineFailed
		if h.Reward.Canceled() {
			kind = TimelineCanceled
			h.addStood(&t, open, h.CanceledAt)
		}
		t.add(h.CanceledAt, kind, h.Reward.FailureReason, nil) // if its time is not known, that of the last entry
	default:
		h.addWaiting(&t, open)
	}
	return t.list
}

// got says what the user got. Shares of before and after a corporate action cannot be added up, and have the symbol of
// their order.
func (h History) got() string {
	var shares money.Shares
	symbol, several := h.Asset.Symbol, false
	for _, o := range h.Orders {
		shares += o.Bought.Shares
		several = several || o.Generation != h.Orders[0].Generation
		symbol = o.Symbol
	}
	if several {
		return fmt.Sprintf("the user got stock of %s for %s, before and after a corporate action", symbol,
			dollars(h.Reward.Amount))
	}
	return fmt.Sprintf("the user got %s shares of %s for %s", shares, symbol, dollars(h.Reward.Amount))
}

// timeline collects entries, oldest first.
type timeline struct{ list []TimelineEntry }

func (t *timeline) last() time.Time { return t.list[len(t.list)-1].At }

// add adds an entry. The clocks of two processes and of the broker may differ, so it never comes
// before the last one.
func (t *timeline) add(at time.Time, kind, message string, o *Ordered) {
	if len(t.list) > 0 {
		at = notBefore(at, t.last())
	}
	t.list = append(t.list, TimelineEntry{At: at, Type: kind, Message: message, Order: o})
}

// addOrder adds the life of an order.
func (t *timeline) addOrder(o *Ordered) {
	ordered := dollars(o.Carried) + " went into an order of " + dollars(o.Notional)
	if offered := o.HouseOffers(); offered > 0 {
		ordered += "; shares of the house pay for " + dollars(offered) + " more"
	}
	t.add(o.CreatedAt(), TimelineOrdered, ordered, o)
	if o.FirstAttemptAt.IsZero() {
		return
	}
	sent := "the order was sent to the broker"
	if o.Attempts > 1 {
		sent += fmt.Sprintf(", %d times with one id", o.Attempts)
	}
	t.add(o.FirstAttemptAt, TimelineSent, sent, o)
	if !o.AnsweredAt.IsZero() {
		at := o.AnsweredAt
		if !o.FilledAt.IsZero() && o.FilledAt.Before(at) { // the broker filled it at once
			at = o.FilledAt
		}
		t.add(at, TimelineAnswered, "the broker has the order", o)
	}
	filled := o.FilledAt
	if filled.IsZero() {
		filled = o.SettledAt
	}
	switch {
	case o.State == OrderRefused:
		t.add(o.SettledAt, TimelineRefused, "the broker refused the order: "+o.Reason, o)
	case o.State != OrderSettled:
	case o.Bought.Amount == 0:
		t.add(filled, TimelineFilled, "the order bought "+o.FilledQty.String()+" shares, and nothing for this award", o)
	default:
		const text = "the order bought %s shares at %s on average, %s for %s of this award"
		t.add(filled, TimelineFilled, fmt.Sprintf(text, o.FilledQty, dollars(o.FilledAvgPrice),
			o.Bought.Shares, dollars(o.Bought.Amount)), o)
	}
}

// addStood adds why nothing was ordered between two moments. What an open reward still waits for comes last.
func (h History) addStood(t *timeline, from, to time.Time) {
	for _, s := range h.Stood {
		lasts := s.Until.IsZero()
		if lasts && h.Reward.Status < Executed || !lasts && !s.Until.After(from) || !s.Since.Before(to) {
			continue
		}
		t.add(notBefore(s.Since, from), TimelineWaited, "it waited: "+s.Explain(h.Asset.Symbol, 0), nil)
	}
}

// addWaiting adds what the reward still waits for. open is since when it needs an order.
func (h History) addWaiting(t *timeline, open time.Time) {
	if n := len(h.Orders); n > 0 && !h.Orders[n-1].State.Final() {
		h.addLive(t, &h.Orders[n-1])
		return
	}
	h.addStood(t, open, h.Now)
	s, stands := h.standstill()
	switch {
	case h.App.Suspended:
		t.add(open, TimelineWaiting, "the app is suspended", nil)
	case stands:
		t.add(notBefore(s.Since, open), TimelineWaiting, s.Explain(h.Asset.Symbol, h.Pool), nil)
	case !h.Led:
		t.add(open, TimelineWaiting, NotLed, nil)
	default:
		message := "it goes into the next order of " + h.Asset.Symbol + ", in turn with other stocks"
		t.add(open, TimelineWaiting, message, nil)
	}
}

// addLive adds what an order waits for that is not final.
func (h History) addLive(t *timeline, o *Ordered) {
	var message string
	switch {
	case o.State == OrderQuarantined:
		message = "the operator must decide about the order"
	case o.State == OrderResolved:
		message = "the operator has decided about the order, which is booked next"
	case !h.Led:
		message = NotLed
	case o.AwaitsPrice():
		message = "the order was filled far from the last price, which is being checked"
	case o.State == OrderOpen && o.Reason != "":
		message = "the broker had the order, and does not show it now"
	case o.State == OrderOpen:
		message = "the order has been at the broker since " + shortMoment(firstOf(o.AnsweredAt, o.FirstAttemptAt))
	case o.State == OrderSubmitted && o.Reason != "":
		message = "the broker has not taken the order yet: " + o.Reason
	case o.State == OrderSubmitted:
		message = "the broker has not confirmed the order, which was sent at " + shortMoment(o.FirstAttemptAt)
	default:
		message = "the order is sent next"
	}
	if s, stands := h.standstill(); stands && o.State <= OrderSubmitted && s.AssetID == 0 {
		message = s.Explain(h.Asset.Symbol, h.Pool)
	}
	t.add(t.last(), TimelineWaiting, message, o)
}

func firstOf(t, otherwise time.Time) time.Time {
	if t.IsZero() {
		return otherwise
	}
	return t
}

// NotLed says that no process leads fulfillment.
const NotLed = "no process places orders now; it goes on when one does"

// standstill returns why the reward is not ordered now, or false when nothing keeps it from the next
// order. What an operator decides counts at once, before the leader has seen it.
func (h History) standstill() (Standstill, bool) {
	now := func(c Cause, since time.Time) (Standstill, bool) {
		for _, s := range h.Stood {
			if s.Until.IsZero() && s.Cause == c {
				return s, true
			}
		}
		return Standstill{Cause: c, Since: since}, true
	}
	switch {
	case h.Control.Paused != "":
		return now(CausePaused, h.Now)
	case h.Control.Conflicts > 0:
		return now(CauseConflict, h.Now)
	case h.Asset.Doubt.Exists():
		return now(CauseDoubt, h.Asset.Doubt.Since)
	case h.Blocked:
		return now(CauseQuarantine, h.Now)
	}
	for _, of := range []AssetID{0, h.Asset.ID} {
		for _, s := range h.Stood {
			if s.AssetID == of && s.Until.IsZero() && s.Cause != CausePaused && s.Cause != CauseConflict {
				return s, true
			}
		}
	}
	return Standstill{}, false
}

// Timeline returns what happened to a reward of the app, or fails with CodeNotFound (additions,
// section 6).
func (s *Service) Timeline(ctx context.Context, app AppID, id RewardID) ([]TimelineEntry, error) {
	h, err := s.store.History(ctx, app, id)
	return h.Timeline(), err
}
