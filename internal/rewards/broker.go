package rewards

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"stockrewards/internal/money"
)

// OrderRequest is an order as it is sent to a broker: a market day order that buys the
// symbol for the notional.
type OrderRequest struct {
	ClientOrderID string    // chosen by this service, never used twice
	Symbol        string    // upper case, "BRK.B"
	Notional      money.USD // whole cents
}

// BrokerOrder is an order as a broker reports it. Its quantities are cumulative.
type BrokerOrder struct {
	ID             string // the broker's identifier
	ClientOrderID  string
	AssetID        string // the broker's identifier of the stock; "" if missing
	Symbol         string
	Side           string // "buy" or "sell"
	Status         string // the broker's word, unchanged
	Notional       money.USD
	FilledQty      money.Shares
	FilledAvgPrice money.Price // zero while nothing is filled
	SubmittedAt    time.Time   // zero if missing
	FilledAt       time.Time   // zero if missing

	// Problem names a member that cannot be read as a quantity, for example
	// "filled_qty: too many decimals". That member is zero above, and the order must not be
	// trusted. It is "" for a valid order.
	Problem string
}

// MarketClock is a reading of the broker's clock and market hours.
type MarketClock struct {
	Now       time.Time // the broker's time
	Open      bool
	NextOpen  time.Time
	NextClose time.Time

	// Simulated is set by a brokerage whose clock was set on purpose: only the paper
	// brokerage, while its test clock is set.
	Simulated bool
	// CanJump is set by a brokerage whose clock can be set at any moment: only the paper brokerage. What depends on a
	// reading must read it again.
	CanJump bool
}

// NextChange returns when the market next opens or closes.
func (c MarketClock) NextChange() time.Time {
	if c.Open {
		return c.NextClose
	}
	return c.NextOpen
}

// lastMoments is how long before the close an order that is sent may reach the broker after it. Then it is filled when
// the market opens again (alpaca: facts.md, orders outside of the market's hours).
const lastMoments = 30 * time.Second

// FilledUntil returns until when an order that is sent now may be filled, for the holds of its stock: usually now. In
// the last moments before the close it is the next opening, which may be after a split.
func (c MarketClock) FilledUntil() time.Time {
	if c.Open && c.NextClose.Sub(c.Now) < lastMoments && c.NextOpen.After(c.Now) {
		return c.NextOpen
	}
	return c.Now
}

// BrokerPrice is the latest price of one stock as a broker reports it.
type BrokerPrice struct {
	Symbol        string
	Price         money.Price // of the last trade, positive
	TradedAt      time.Time
	PreviousClose money.Price // of the trading day before; zero if missing
	EarlierClose  money.Price // if that is in the units before the last change; zero without a recent change
	LaterClose    money.Price // if that is in the units that are pending; zero when the trade is not in those
}

// BrokerAsset is a security that the broker knows.
type BrokerAsset struct {
	ID           string
	Symbol       string
	Name         string
	Exchange     string
	Active       bool
	Tradable     bool
	Fractionable bool
}

// Position is how much of a stock the broker holds for the account.
type Position struct {
	AssetID string
	Symbol  string
	Qty     money.Shares
}

// BrokerAccount is the account that orders are placed in.
type BrokerAccount struct {
	ID          string
	Number      string // for people; "" if missing
	Status      string
	Blocked     bool // the broker accepts no orders for it
	BuyingPower money.USD
}

// BrokerErrorKind is what a failed call proves about the request.
type BrokerErrorKind int

// The kinds of broker errors.
const (
	// BrokerUnknown means an unknown outcome: a timeout, a broken connection, a 5xx, a 429,
	// or an answer that cannot be read.
	BrokerUnknown BrokerErrorKind = iota
	// BrokerRefused means that the request was refused for good and never has an effect.
	BrokerRefused
	// BrokerWait means that the request had no effect and may succeed later: funds or valid
	// credentials are missing.
	BrokerWait
	// BrokerDuplicate means that the client order id exists already.
	BrokerDuplicate
	// BrokerNotFound means that the broker does not have the object, or not yet.
	BrokerNotFound
)

// String returns the kind as logs and metrics name it.
func (k BrokerErrorKind) String() string {
	switch k {
	case BrokerRefused:
		return "refused"
	case BrokerWait:
		return "wait"
	case BrokerDuplicate:
		return "duplicate"
	case BrokerNotFound:
		return "not_found"
	default:
		return "unknown"
	}
}

// BrokerError is a failed call of a broker.
type BrokerError struct {
	Kind    BrokerErrorKind
	Code    string // this service's stable code of a refusal: "asset_not_tradable"
	Message string // the broker's words, of bounded length, without secrets
	Lasting bool   // a BrokerWait that neither funds nor credentials end: a forbidden request, a wrong address
	Err     error  // the cause, or nil
}

// Error describes the failed call.
func (e *BrokerError) Error() string {
	text := fmt.Sprintf("broker: %s", e.Kind)
	if e.Code != "" {
		text += ": " + e.Code
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Reason returns the refusal as the failure reason of a reward, "<code>: <message>"; "" when the
// request never left this process.
func (e *BrokerError) Reason() string {
	if e.Code == NotSent {
		return ""
	}
	return FailureReason(FailureCode(cmp.Or(e.Code, string(FailureOrderRefused))), e.Message)
}

// Unwrap returns the cause.
func (e *BrokerError) Unwrap() error { return e.Err }

// NotSent is the Code of a BrokerWait for a request that never left this process, because
// the rate limit had no room for it in time.
const NotSent = "not_sent"

// BrokerKindOf returns the kind of a BrokerError, and BrokerUnknown for any other error.
func BrokerKindOf(err error) BrokerErrorKind {
	if e, ok := errors.AsType[*BrokerError](err); ok {
		return e.Kind
	}
	return BrokerUnknown
}
