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
	OrderSubmitted                         // sent at least once, and not yet seen at the broker
	OrderOpen                              // the broker has it
	OrderQuarantined                       // contradictory or lost; an operator must decide
	OrderResolved                          // an operator decided; it must be booked
	OrderSettled                           // booked; final
	OrderRefused                           // refused for good with nothing bought; final
)

// String returns the state's name.
func (s OrderState) String() string {
	names := [...]string{
		"", "planned", "submitted", "open", "quarantined", "resolved", "settled", "refused",
	}
	if s < OrderPlanned || int(s) >= len(names) {
		return "unknown"
	}
	return names[s]
}

// ParseOrderState returns the state of that name, or false.
func ParseOrderState(name string) (OrderState, bool) {
	for s := OrderPlanned; s <= OrderRefused; s++ {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// Final reports whether an order in this state never changes again.
func (s OrderState) Final() bool { return s == OrderSettled || s == OrderRefused }

// CanBecome reports whether an order may go from s to next. No other transition is made.
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
	default:
		return false
	}
}

// Order is one buy order at the broker, for the pooled rewards of one asset.
type Order struct {
	ID            OrderID
	Number        int64  // in the store; 0: its members are stored as by an earlier version
	ClientOrderID string // sent to the broker; never used for another order
	AssetID       AssetID
	AssetBrokerID string    // the broker's identifier of the asset; "" if unknown
	AssetFormerID string    // the one before the asset's last rename; "" if it did not change
	Symbol        string    // as sent; the asset may have been renamed since
	Notional      money.USD // whole cents: the members' amounts and House
	House         money.USD // added by the house, to the cent or the broker's minimum; negative: its own shares pay
	MembersHash   [sha256.Size]byte
	State         OrderState

	Attempts       int       // sends, each counted before it is made
	FirstAttemptAt time.Time // zero until sent
	AnsweredAt     time.Time // when the broker first showed it; zero: not yet, or not known
	NextAttemptAt  time.Time // earliest time of the next look-up or send
	Deadline       time.Time // when an ambiguous order that the broker does not show is lost; zero: not ambiguous

	RefusedSessions int       // sessions in which an attempt got a lasting refusal
	RefusedUntil    time.Time // close of the last of them

	BrokerID       string
	BrokerStatus   string // the broker's word
	FilledQty      money.Shares
	FilledAvgPrice money.Price
	FilledAt       time.Time
	TerminalSince  time.Time // first reading of an end other than filled; zero: no such reading

	Reason      string       // why it waits, is quarantined or was refused
	HouseShares money.Shares // booked to the house; negative: it gave its own
	Corrected   money.Shares // FilledQty, or what the broker corrected it to after it was booked
	Generation  int64        // of the asset when it was booked: the units of its lots
	SettledAt   time.Time
}

// CreatedAt returns when the order was planned.
func (o Order) CreatedAt() time.Time { return o.ID.Time() }

// Request returns the order as it is sent.
func (o Order) Request() OrderRequest {
	return OrderRequest{ClientOrderID: o.ClientOrderID, Symbol: o.Symbol, Notional: o.Notional}
}

// Member is one reward's part of an order. An order's members are frozen when it is
// planned.
type Member struct {
	AppID    AppID
	RewardID RewardID
	Amount   money.USD // carried by this order
}

// HashMembers returns the seal of an order: the hash of its frozen members.
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

// Phase is the meaning of a broker's status.
type Phase int

// The phases.
const (
	PhaseInvalid Phase = iota // an unknown status, or one that this service never causes
	PhaseWorking              // it may still change
	PhaseFilled               // all of it was bought
	PhaseEnded                // it ended otherwise; what is filled is bought
)

// The broker's statuses of orders that have ended.
const (
	statusFilled   = "filled"
	statusCanceled = "canceled"
	statusExpired  = "expired"
	statusRejected = "rejected"
)

// PhaseOf returns the meaning of a status of Alpaca's orders (docs/states.md).
func PhaseOf(status string) Phase {
	switch status {
	case "new", "accepted", "pending_new", "partially_filled", "done_for_day", "pending_cancel",
		"pending_replace", "accepted_for_bidding", "stopped", "suspended", "calculated", "held":
		return PhaseWorking
	case statusFilled:
		return PhaseFilled
	case statusCanceled, statusExpired, statusRejected:
		return PhaseEnded
	default: // "replaced" too: the service never replaces an order
		return PhaseInvalid
	}
}

// ErrContradiction reports that the broker's report of an order cannot be true. The order
// is quarantined; nothing is guessed.
var ErrContradiction = errors.New("the broker contradicts the order")

func contradiction(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrContradiction, fmt.Sprintf(format, args...))
}

// Merge merges the broker's report of the order at the time now. Filled quantities are
// absolute and never shrink, and a terminal status sticks. levels are the known prices of
// the stock: a new fill far from all of them is rejected; without levels its price is not
// checked. Merge fails with ErrContradiction and then returns the order unchanged.
func (o Order) Merge(b BrokerOrder, now time.Time, levels ...money.Price) (Order, error) {
	if err := o.check(b, levels); err != nil {
		return o, err
	}
	before, phase, known := o, PhaseOf(b.Status), PhaseOf(o.BrokerStatus)
	ended := known == PhaseEnded || known == PhaseFilled
	o.State, o.BrokerID = OrderOpen, b.ID
	if o.AnsweredAt.IsZero() {
		o.AnsweredAt = notBefore(now, o.FirstAttemptAt)
	}
	switch {
	case (phase == PhaseWorking || phase == PhaseEnded) && known == PhaseFilled:
		return o, nil // a stale report
	case phase == PhaseWorking && ended && b.FilledQty > o.FilledQty:
		return before, contradiction("it ended as %s with %s filled, and now has %s filled",
			o.BrokerStatus, o.FilledQty, b.FilledQty)
	case phase == PhaseWorking && ended:
		o.TerminalSince = now // the end sticks, but two new readings must agree on it
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

// agrees reports whether b repeats the last reading of the order's end. The price counts,
// because the dollars spent by an end other than filled follow from it.
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

// check fails with ErrContradiction when b cannot be this order.
func (o Order) check(b BrokerOrder, levels []money.Price) error {
	switch {
	case b.Problem != "":
		return contradiction("%s", b.Problem)
	case b.ClientOrderID != o.ClientOrderID:
		return contradiction("client order id %q", b.ClientOrderID)
	case o.BrokerID != "" && b.ID != o.BrokerID:
		return contradiction("broker order id %q was %q", b.ID, o.BrokerID)
	case !o.sameAsset(b):
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
	case b.Status == statusFilled && b.FilledQty == 0:
		return contradiction("filled with nothing bought")
	case b.Status == statusFilled && !o.whole(b.FilledQty, b.FilledAvgPrice):
		return contradiction("it is filled, but %s shares at %s cost less than the notional %s",
			b.FilledQty, b.FilledAvgPrice, o.Notional)
	}
	return o.checkFill(b, levels)
}

// sameAsset reports whether b buys the order's stock. It compares the broker's identifiers,
// which survive most renames, and symbols when one of the identifiers is unknown.
func (o Order) sameAsset(b BrokerOrder) bool {
	if o.AssetBrokerID != "" && b.AssetID != "" {
		return b.AssetID == o.AssetBrokerID || b.AssetID == o.AssetFormerID
	}
	return b.Symbol == o.Symbol
}

// TerminalWait is the least time between the two readings that prove an end other than
// filled.
const TerminalWait = 30 * time.Second

// Proven reports whether the order's end is certain after a report at the time now: filled
// at once, other ends when two readings at least TerminalWait apart agree.
func (o Order) Proven(now time.Time) bool {
	switch PhaseOf(o.BrokerStatus) {
	case PhaseFilled:
		return true
	case PhaseEnded:
		return now.Sub(o.TerminalSince) >= TerminalWait
	default:
		return false
	}
}

// Carried returns the dollars that were spent: the whole notional of a filled order,
// otherwise the cost of the filled quantity, rounded down, at most the notional. It fails
// with money.ErrOverflow.
func (o Order) Carried() (money.USD, error) {
	if o.BrokerStatus == statusFilled {
		return o.Notional, nil
	}
	cost, err := money.Value(o.FilledQty, o.FilledAvgPrice, money.Down)
	return min(cost, o.Notional), err
}

// longestLife is longer than any day order lives: one that is sent in the last seconds before a weekend with a holiday
// expires at the close of the session after it.
const longestLife = 100 * time.Hour

// Waits is why an operator should look at the order although nothing needs a decision; "" if there is no reason.
func (o Order) Waits(now time.Time) string {
	switch {
	case o.State == OrderResolved:
		return ""
	case o.State == OrderOpen && o.Reason == "" && now.Sub(o.FirstAttemptAt) > longestLife:
		return "the broker still works on it, days after a day order ends"
	}
	return o.Reason
}

const (
	minBackoff = time.Second
	// maxBackoff is the longest pause before an order is looked up or sent again.
	maxBackoff = time.Minute
)

// Backoff returns the pause after the given number of attempts.
func Backoff(attempts int) time.Duration {
	const doublings = 6
	return min(minBackoff<<min(max(attempts-1, 0), doublings), maxBackoff)
}
