package rewards

import (
	"errors"
	"fmt"
	"time"

	"stockrewards/internal/money"
)

// OrderRequest is what the service asks of a broker: a market order, good for the
// day, that buys the symbol for the notional.
type OrderRequest struct {
	ClientOrderID string    // ours, unique for ever
	Symbol        string    // upper case, "BRK.B"
	Notional      money.USD // whole cents
}

// BrokerOrder is an order as a broker tells of it. Its quantities are cumulative.
type BrokerOrder struct {
	ID             string // the broker's own identifier
	ClientOrderID  string
	AssetID        string // the broker's identifier of the stock; "" when not told
	Symbol         string
	Side           string // "buy" or "sell"
	Status         string // the broker's word, as it came
	Notional       money.USD
	FilledQty      money.Shares
	FilledAvgPrice money.Price // zero while nothing is filled
	SubmittedAt    time.Time   // zero when not told
	FilledAt       time.Time   // zero when not told

	// Problem says what in the answer cannot be read as a quantity, for example
	// "filled_qty: too many decimals". It is empty when all is well; otherwise the
	// member named is zero above and the order must not be trusted.
	Problem string
}

// MarketClock is what the broker says of its market's hours.
type MarketClock struct {
	Now       time.Time // the broker's own time
	Open      bool
	NextOpen  time.Time
	NextClose time.Time

	// Moved: the brokerage declares that its clock was set on purpose. Only our paper
	// brokerage does, while its test clock is set.
	Moved bool
}

// Turn is when the market next opens or closes.
func (c MarketClock) NextChange() time.Time {
	if c.Open {
		return c.NextClose
	}
	return c.NextOpen
}

// BrokerPrice is the market's latest word on one stock.
type BrokerPrice struct {
	Symbol        string
	Price         money.Price // of the last trade, positive
	TradedAt      time.Time
	PreviousClose money.Price // of the trading day before; zero when not told
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
	Number      string // as people write it; "" when not reported
	Status      string
	Blocked     bool // the broker takes no orders for it
	BuyingPower money.USD
}

// BrokerErrorKind says what a broker's refusal or silence means for the request.
type BrokerErrorKind int

// The kinds of broker errors.
const (
	// BrokerUnknown: the request may or may not have been carried out (a time-out,
	// a broken connection, a 5xx, a 429, an answer that cannot be read).
	BrokerUnknown BrokerErrorKind = iota
	// BrokerRefused: the request was refused for good and never will be carried out.
	BrokerRefused
	// BrokerWait: the request was refused for a reason that passes or that an
	// operator mends (missing funds, credentials); it was not carried out.
	BrokerWait
	// BrokerDuplicate: the client order id exists already.
	BrokerDuplicate
	// BrokerNotFound: the broker does not (or not yet) know what was asked for.
	BrokerNotFound
)

// String is the kind as logs and metrics name it.
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
	case BrokerUnknown:
	}
	return "unknown"
}

// BrokerError is what a broker adapter returns when a call did not succeed.
type BrokerError struct {
	Kind    BrokerErrorKind
	Code    string // a stable code of ours for a refusal: "asset_not_tradable"
	Message string // the broker's words, cut to a bounded length, without secrets
	Lasting bool   // a BrokerWait that funds and credentials do not end: a forbidden request, a wrong address
	Err     error  // the cause below, or nil
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

// Unwrap is the cause.
func (e *BrokerError) Unwrap() error { return e.Err }

// NotSent is the Code of a BrokerWait that never left this process: the rate limit
// had no room for it in time.
const NotSent = "not_sent"

// BrokerKindOf is the kind of a broker's error; an error of another type says
// nothing about the request, so it is BrokerUnknown.
func BrokerKindOf(err error) BrokerErrorKind {
	if e, ok := errors.AsType[*BrokerError](err); ok {
		return e.Kind
	}
	return BrokerUnknown
}
