package rewards

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"stockrewards/internal/money"
)

// OrderState is the state of an order. docs/states.md draws the transitions.
type OrderState int

// The states of an order.
const (
	OrderPlanned     OrderState = iota + 1 // stored, never sent
	OrderSubmitted                         // sent at least once; the broker's answer is not known
	OrderOpen                              // the broker has it
	OrderQuarantined                       // contradictory or lost; an operator must decide
	OrderResolved                          // an operator decided; to be booked
	OrderSettled                           // booked; final
	OrderRefused                           // refused for good with nothing bought; final
)

// String is the state's name.
func (s OrderState) String() string {
	names := [...]string{
		"", "planned", "submitted", "open", "quarantined", "resolved", "settled", "refused",
	}
	if s < OrderPlanned || int(s) >= len(names) {
		return "unknown"
	}
	return names[s]
}

// ParseOrderState reads a state's name.
func ParseOrderState(name string) (OrderState, bool) {
	for s := OrderPlanned; s <= OrderRefused; s++ {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// Final tells whether an order in this state never changes again.
func (s OrderState) Final() bool { return s == OrderSettled || s == OrderRefused }

// CanBecome is the table of the transitions of an order; no other is ever made.
func (s OrderState) CanBecome(next OrderState) bool {
	switch next {
	case OrderSubmitted:
		return s == OrderPlanned || s == OrderSubmitted
	case OrderOpen:
		return s == OrderSubmitted || s == OrderOpen
	case OrderQuarantined:
		return s == OrderSubmitted || s == OrderOpen || s == OrderResolved
	case OrderResolved:
		return s == OrderQuarantined || s == OrderSubmitted
	case OrderSettled:
		return s == OrderOpen || s == OrderResolved
	case OrderRefused:
		return s == OrderSubmitted || s == OrderOpen
	case OrderPlanned:
	}
	return false
}

// Order is one buy order at the broker, for the pooled rewards of one asset.
type Order struct {
	ID            OrderID
	ClientOrderID string // sent to the broker; unique for ever
	AssetID       AssetID
	AssetBrokerID string    // the broker's identifier of the asset; "" while it is not known
	Symbol        string    // as it was sent; the asset may have been renamed since
	Notional      money.USD // whole cents: the members' amounts and House
	House         money.USD // the house's own member: up to the cent, or to the broker's minimum
	MembersHash   [sha256.Size]byte
	State         OrderState

	Attempts       int       // sends committed so far
	FirstAttemptAt time.Time // zero until sent
	NextAttemptAt  time.Time // not looked up or sent again before
	Deadline       time.Time // of an ambiguous order: quarantined when the broker does not show it by then

	RefusedSessions int       // in which an attempt was refused for a reason that nobody mended
	RefusedUntil    time.Time // the close of the last of them

	BrokerID       string
	BrokerStatus   string // the broker's word
	FilledQty      money.Shares
	FilledAvgPrice money.Price
	FilledAt       time.Time
	TerminalSince  time.Time // when an end other than filled was first read; zero: not

	Reason      string       // why it is quarantined or was refused
	HouseShares money.Shares // booked to the house
	SettledAt   time.Time
}

// CreatedAt is when the order was planned.
func (o Order) CreatedAt() time.Time { return o.ID.Time() }

// Request is the order as it is sent.
func (o Order) Request() OrderRequest {
	return OrderRequest{ClientOrderID: o.ClientOrderID, Symbol: o.Symbol, Notional: o.Notional}
}

// Member is one reward's share in an order. The list of an order's members is
// frozen when the order is planned.
type Member struct {
	AppID    AppID
	RewardID RewardID
	Amount   money.USD // carried by this order
}

// HashMembers is the seal of a frozen list of members.
func HashMembers(members []Member) [sha256.Size]byte {
	h := sha256.New()
	var amount [8]byte
	for _, m := range members {
		binary.BigEndian.PutUint64(amount[:], uint64(m.Amount))
		h.Write(m.AppID[:])
		h.Write(m.RewardID[:])
		h.Write(amount[:])
	}
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	return sum
}

// Phase is what a broker's status means for an order.
type Phase int

// The phases.
const (
	PhaseInvalid Phase = iota // a status that we do not know or never cause
	PhaseWorking              // it may still change
	PhaseFilled               // all of it was bought
	PhaseEnded                // it ended otherwise; what is filled is bought
)

// PhaseOf maps a broker's status (facts of Alpaca's orders; docs/states.md).
func PhaseOf(status string) Phase {
	switch status {
	case "new", "accepted", "pending_new", "partially_filled", "done_for_day", "pending_cancel",
		"pending_replace", "accepted_for_bidding", "stopped", "suspended", "calculated", "held":
		return PhaseWorking
	case "filled":
		return PhaseFilled
	case "canceled", "expired", "rejected":
		return PhaseEnded
	default: // "replaced" too: the service never replaces an order
		return PhaseInvalid
	}
}

// ErrContradiction says that what the broker tells of an order cannot be. The order is
// quarantined; nothing is guessed.
var ErrContradiction = errors.New("the broker contradicts the order")

func contradiction(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrContradiction, fmt.Sprintf(format, args...))
}

// Merge takes what the broker reports of the order at the moment now. Quantities
// merge by their absolute value and never shrink; an end sticks. levels are what is
// known of the stock's price: a new fill far from all of them is not believed; without
// any it is not compared. It fails with ErrContradiction and then changes nothing.
func (o Order) Merge(b BrokerOrder, now time.Time, levels ...money.Price) (Order, error) {
	if err := o.check(b, levels); err != nil {
		return o, err
	}
	before, phase, known := o, PhaseOf(b.Status), PhaseOf(o.BrokerStatus)
	ended := known == PhaseEnded || known == PhaseFilled
	o.State, o.BrokerID = OrderOpen, b.ID
	switch {
	case (phase == PhaseWorking || phase == PhaseEnded) && known == PhaseFilled:
		return o, nil // a late reading: filled sticks
	case phase == PhaseWorking && ended && b.FilledQty > o.FilledQty:
		return before, contradiction("it ended as %s with %s, and goes on to %s",
			o.BrokerStatus, o.FilledQty, b.FilledQty)
	case phase == PhaseWorking && ended:
		o.TerminalSince = now // the end sticks, but two readings must agree on it anew
		return o, nil
	case phase == PhaseWorking:
		o.BrokerStatus = b.Status
		o.grow(b)
		return o, nil
	}
	if b.FilledQty < o.FilledQty {
		return before, contradiction("filled quantity fell from %s to %s", o.FilledQty, b.FilledQty)
	}
	if !ended || !o.agrees(b) {
		o.TerminalSince = now
	}
	o.BrokerStatus = b.Status
	o.grow(b)
	return o, nil
}

// agrees reports whether a reading of the order's end repeats the one before, its price
// included: the dollars that an end other than filled has spent follow from the price.
func (o Order) agrees(b BrokerOrder) bool {
	return b.Status == o.BrokerStatus && b.FilledQty == o.FilledQty && b.FilledAvgPrice == o.FilledAvgPrice
}

func (o *Order) grow(b BrokerOrder) {
	if b.FilledQty < o.FilledQty {
		return
	}
	o.FilledQty, o.FilledAvgPrice = b.FilledQty, b.FilledAvgPrice
	if !b.FilledAt.IsZero() {
		o.FilledAt = b.FilledAt
	}
}

// check finds what in the broker's order cannot be the answer to this order.
func (o Order) check(b BrokerOrder, levels []money.Price) error {
	switch {
	case b.Problem != "":
		return contradiction("%s", b.Problem)
	case b.ClientOrderID != o.ClientOrderID:
		return contradiction("client order id %q", b.ClientOrderID)
	case o.BrokerID != "" && b.ID != o.BrokerID:
		return contradiction("broker order id %q was %q", b.ID, o.BrokerID)
	case !o.concerns(b):
		return contradiction("symbol %q (asset %q)", b.Symbol, b.AssetID)
	case b.Side != "buy":
		return contradiction("side %q", b.Side)
	case b.Notional != o.Notional:
		return contradiction("notional %s", b.Notional)
	case PhaseOf(b.Status) == PhaseInvalid:
		return contradiction("status %q", b.Status)
	case b.FilledQty < 0:
		return contradiction("filled quantity %s", b.FilledQty)
	case b.FilledQty > 0 && b.FilledAvgPrice <= 0:
		return contradiction("price %s of a fill", b.FilledAvgPrice)
	case b.Status == "filled" && b.FilledQty == 0:
		return contradiction("filled with nothing bought")
	case b.Status == "filled" && !o.whole(b.FilledQty, b.FilledAvgPrice):
		return contradiction("filled, but %s shares at %s cost less than the notional %s",
			b.FilledQty, b.FilledAvgPrice, o.Notional)
	}
	return o.checkFill(b, levels)
}

// concerns tells whether the broker's order is about the same stock: by its identifier
// of the asset, which outlasts the symbol; by the symbol when one side does not know it.
func (o Order) concerns(b BrokerOrder) bool {
	if o.AssetBrokerID != "" && b.AssetID != "" {
		return b.AssetID == o.AssetBrokerID
	}
	return b.Symbol == o.Symbol
}

// TerminalWait is how far two readings of an end other than filled must be apart.
const TerminalWait = 30 * time.Second

// Proven tells whether the order's end is certain, given that the broker has just
// been read at the moment now: filled at once, other ends when two readings at
// least TerminalWait apart agree.
func (o Order) Proven(now time.Time) bool {
	switch PhaseOf(o.BrokerStatus) {
	case PhaseFilled:
		return true
	case PhaseEnded:
		return now.Sub(o.TerminalSince) >= TerminalWait
	case PhaseInvalid, PhaseWorking:
	}
	return false
}

// Carried is how many of the order's dollars were spent: the whole notional when
// filled, otherwise what the filled quantity cost, rounded down, at most the notional.
func (o Order) Carried() (money.USD, error) {
	if o.BrokerStatus == "filled" {
		return o.Notional, nil
	}
	cost, err := money.Value(o.FilledQty, o.FilledAvgPrice, money.Down)
	return min(cost, o.Notional), err
}

// The pauses before an unanswered order is looked up or sent again.
const (
	minBackoff = time.Second
	// MaxBackoff is the longest pause.
	MaxBackoff = time.Minute
)

// Backoff is the pause after that many attempts.
func Backoff(attempts int) time.Duration {
	const doublings = 6
	return min(minBackoff<<min(max(attempts-1, 0), doublings), MaxBackoff)
}
