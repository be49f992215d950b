package rewards

import (
	"errors"
	"fmt"
	"time"

	"stockrewards/internal/money"
)

// Source is the call whose outcome is the evidence about an order.
type Source int

// The sources of evidence.
const (
	FromStore     Source = iota // no call yet: the order as stored
	FromList                    // the broker's list of orders, which shows it
	NotInList                   // the broker's list of orders, which does not show it
	FromLookUp                  // a look-up by client order id
	FromSend                    // a send
	FromDuplicate               // the look-up after the broker refused a send as a duplicate
	FromBrakes                  // the brakes, which forbid a send now
	FromBooking                 // the booking of its end, which failed
)

// LookUp is the source of evidence from a look-up that evidence of source s led to.
func (s Source) LookUp() Source {
	if s == FromSend {
		return FromDuplicate
	}
	return FromLookUp
}

// Evidence is what one call showed about an order.
type Evidence struct {
	Source Source
	Report BrokerOrder // the broker's order; valid when the broker was called and Err is nil
	Err    error       // why the call failed

	First  bool          // of FromSend: no earlier send can have reached the broker
	Levels []money.Price // of the stock's price, for Merge
	Priced Pricing       // how old Levels are
	Now    time.Time     // our time
	Clock  MarketClock   // the broker's
}

// StepKind is what fulfillment must do with an order.
type StepKind int

// The steps.
const (
	StepNone      StepKind = iota // nothing
	StepSend                      // send it with its client order id, as soon as the brakes allow
	StepPoll                      // read it from the broker's list of orders
	StepLookUp                    // read it from the broker by its client order id
	StepReadPrice                 // read the stock's price again, then decide again
	StepSave                      // store it
	StepSettle                    // book its fill
	StepRefuse                    // fail its rewards
)

// Step is the next step of an order.
type Step struct {
	Kind   StepKind
	Order  Order  // as it must be stored; of StepSave and StepSettle
	Reason string // the failure reason of the rewards; of StepRefuse
}

// Next decides the order's next step, given the last evidence about it. No other code decides;
// docs/states.md has a row for each case.
func (o Order) Next(e Evidence) Step {
	switch {
	case e.Source == FromStore:
		return o.fromStored()
	case e.Source == NotInList && o.due(e.Now):
		return Step{Kind: StepLookUp}
	case e.Source == NotInList, e.Source == FromBrakes && o.State == OrderPlanned:
		return Step{}
	case e.Source == FromBrakes:
		return o.lookUpLater(e.Now, o.Reason)
	case e.Err == nil:
		return o.reported(e)
	case e.Source == FromSend:
		return o.unanswered(e)
	case e.Source == FromDuplicate:
		return o.wait("the broker has the order but does not show it yet")
	case e.Source == FromBooking && unbookable(e.Err):
		return o.quarantine("it cannot be booked: " + e.Err.Error())
	case e.Source == FromBooking:
		return Step{} // the error says nothing about the order: its end is booked again
	}
	return o.notFound(e)
}

// fromStored is the step of an order that no call was made for.
func (o Order) fromStored() Step {
	switch o.State {
	case OrderPlanned:
		return Step{Kind: StepSend}
	case OrderSubmitted, OrderOpen:
		return Step{Kind: StepPoll}
	case OrderResolved:
		return Step{Kind: StepSettle, Order: o}
	default: // an operator must decide, or it is final
		return Step{}
	}
}

// due reports whether it is time to look the order up. A moment later than the longest pause
// was stored while the clock was ahead.
func (o Order) due(now time.Time) bool {
	pause := o.NextAttemptAt.Sub(now)
	return pause <= 0 || pause > maxBackoff
}

// reported merges the broker's order.
func (o Order) reported(e Evidence) Step {
	merged, err := o.Merge(e.Report, e.Now, e.Levels...)
	switch {
	case errors.Is(err, ErrFarPrice):
		return o.farFilled(e, err)
	case err != nil:
		return o.quarantine(err.Error())
	}
	merged = merged.Unambiguous()
	merged.Reason = ""
	switch {
	case merged.Proven(e.Now):
		return Step{Kind: StepSettle, Order: merged}
	case merged == o && e.Source == FromLookUp:
		merged.NextAttemptAt = e.Now.Add(o.unchangedPause(e.Now))
	case merged == o:
		return Step{}
	}
	return Step{Kind: StepSave, Order: merged}
}

// unchangedPause is how long an order rests that a look-up found as it was, and that no list shows: a quarter of
// its age. Many such orders would otherwise take all requests of the rate limit.
func (o Order) unchangedPause(now time.Time) time.Duration {
	return min(max(now.Sub(o.FirstAttemptAt)/4, minBackoff), maxBackoff)
}

// unanswered judges a send that the broker did not answer with the order.
func (o Order) unanswered(e Evidence) Step {
	failed, ok := errors.AsType[*BrokerError](e.Err)
	if !ok {
		failed = &BrokerError{Kind: BrokerUnknown}
	}
	switch {
	case failed.Kind == BrokerDuplicate:
		return Step{Kind: StepLookUp}
	case failed.Kind == BrokerRefused && e.First:
		return Step{Kind: StepRefuse, Reason: failed.Reason()}
	case failed.Kind == BrokerWait && e.First:
		o = o.Unambiguous() // no attempt can have bought anything
		if failed.Lasting {
			o = o.refusedFor(e.Clock.NextClose)
		}
		return o.wait(failed.Reason())
	case failed.Kind == BrokerRefused, failed.Kind == BrokerWait:
		return o.wait(failed.Reason()) // no proof: an earlier attempt may have bought
	}
	return o.wait("the outcome of the last attempt is unknown: " + e.Err.Error())
}

// notFound judges a look-up that failed: the order may never have arrived, or appear later.
func (o Order) notFound(e Evidence) Step {
	switch {
	case BrokerKindOf(e.Err) != BrokerNotFound:
		return o.lookUpLater(e.Now, "the broker could not be asked about it: "+e.Err.Error())
	case o.lost(e.Clock.Now):
		return o.quarantine("not found at the broker after the close of the session; it may have been bought")
	case o.State == OrderOpen:
		return o.ambiguousUntil(e.Clock.NextClose).lookUpLater(e.Now,
			"the broker had the order and does not find it now")
	case o.refusedTooOften(e.Clock.Now):
		return o.quarantine(fmt.Sprintf("the broker refused it in %d sessions, and nothing was bought: %s",
			o.RefusedSessions, o.Reason))
	}
	return Step{Kind: StepSend}
}

// lookUpLater is the step of an order that is looked up again after a pause. An order whose fill waits for a price goes
// on waiting: only a report of the broker ends that.
func (o Order) lookUpLater(now time.Time, reason string) Step {
	if o.NextAttemptAt = now.Add(Backoff(o.Attempts)); !o.AwaitsPrice() {
		o.Reason = reason
	}
	return Step{Kind: StepSave, Order: o}
}

// wait is the step of an order that was sent and is not open yet. Without a reason the last
// send never left this process, which changes nothing about an ambiguous order.
func (o Order) wait(reason string) Step {
	if reason != "" || !o.Ambiguous() {
		o.Reason = reason
	}
	return Step{Kind: StepSave, Order: o}
}

// quarantine is the step of an order that an operator must decide about.
func (o Order) quarantine(reason string) Step {
	o.State, o.Reason = OrderQuarantined, reason
	return Step{Kind: StepSave, Order: o}
}
