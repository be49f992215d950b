package wire

import (
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/broker/paper/apierror"
	"stockrewards/internal/broker/paper/books"
	"stockrewards/internal/money"
)

// maxClientOrderID is the longest client order id, in characters.
const maxClientOrderID = 128

// readTicket reads the body of an order. Members that a market order does not need may be
// present, null or empty.
func readTicket(body []byte) (books.Ticket, error) {
	var w struct {
		Symbol        string         `json:"symbol"`
		Qty           jsontext.Value `json:"qty"`
		Notional      jsontext.Value `json:"notional"`
		Side          string         `json:"side"`
		Type          string         `json:"type"`
		TimeInForce   string         `json:"time_in_force"`
		OrderClass    string         `json:"order_class"`
		ExtendedHours bool           `json:"extended_hours"`
		ClientOrderID string         `json:"client_order_id"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return books.Ticket{}, apierror.BadRequest("request body format is invalid")
	}
	t := books.Ticket{Symbol: w.Symbol, Side: w.Side, ClientOrderID: w.ClientOrderID}
	switch {
	case w.Symbol == "":
		return t, apierror.Unprocessable("symbol is required")
	case w.Side != books.SideBuy && w.Side != books.SideSell:
		return t, apierror.Unprocessable("invalid side")
	case w.Type != "market":
		return t, apierror.Unprocessable("only market orders are supported by this paper brokerage")
	case w.OrderClass != "" && w.OrderClass != "simple":
		return t, apierror.Unprocessable("only simple orders are supported by this paper brokerage")
	case w.ExtendedHours:
		return t, apierror.Unprocessable("extended hours order must be DAY limit orders")
	case utf8.RuneCountInString(w.ClientOrderID) > maxClientOrderID:
		return t, apierror.Unprocessable("client_order_id must be no more than %d characters", maxClientOrderID)
	}
	if err := readAmounts(&t, w.Notional, w.Qty); err != nil {
		return t, err
	}
	return t, checkTimeInForce(t, w.TimeInForce)
}

// checkTimeInForce refuses all but day orders. Alpaca takes others of whole shares, this
// brokerage does not.
func checkTimeInForce(t books.Ticket, timeInForce string) error {
	whole := t.Notional == 0 && t.Qty%money.Share == 0
	switch {
	case timeInForce == "day":
		return nil
	case !slices.Contains([]string{"gtc", "opg", "cls", "ioc", "fok"}, timeInForce):
		return apierror.Unprocessable("invalid time_in_force")
	case whole:
		return apierror.Unprocessable("only day orders are supported by this paper brokerage")
	}
	return apierror.Unprocessable("fractional orders must be DAY orders")
}

// readAmounts reads the notional or the quantity: exactly one of them must be present.
func readAmounts(t *books.Ticket, notionalValue, qtyValue jsontext.Value) (err error) {
	notional, hasNotional := decimal(notionalValue)
	qty, hasQty := decimal(qtyValue)
	switch {
	case hasNotional && hasQty:
		return apierror.Unprocessable("only one of qty or notional is accepted")
	case hasNotional:
		t.Notional, err = readNotional(notional)
	case hasQty:
		t.Qty, err = readQty(qty)
	default:
		return apierror.Unprocessable("qty or notional is required")
	}
	return err
}

func readNotional(s string) (money.USD, error) {
	notional, err := money.ParseUSD(s)
	switch {
	case errors.Is(err, money.ErrPrecision), err == nil && notional%money.Cent != 0:
		return 0, apierror.Unprocessable("notional value must be limited to 2 decimal places")
	case err != nil:
		return 0, apierror.Unprocessable("notional is invalid: %s", err)
	case notional < books.MinNotional:
		return 0, apierror.TooSmall()
	}
	return notional, nil
}

func readQty(s string) (money.Shares, error) {
	qty, err := money.ParseShares(s)
	switch {
	case errors.Is(err, money.ErrPrecision):
		return 0, apierror.Unprocessable("qty must be limited to 9 decimal places")
	case err != nil:
		return 0, apierror.Unprocessable("qty is invalid: %s", err)
	case qty <= 0:
		return 0, apierror.Unprocessable("qty must be > 0")
	}
	return qty, nil
}

// decimal returns a number that is written as a JSON number or string, and whether it is
// present: null and "" count as missing.
func decimal(v jsontext.Value) (string, bool) {
	kind := v.Kind()
	switch {
	case kind == jsontext.KindNumber:
		return string(v), true
	case kind == jsontext.KindString:
		s, err := jsontext.AppendUnquote(nil, v)
		return string(s), err == nil && len(s) > 0
	case kind == jsontext.KindNull, len(v) == 0:
		return "", false
	}
	return "?", true // its parser will refuse it
}
