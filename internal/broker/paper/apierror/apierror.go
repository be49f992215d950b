// Package apierror holds the errors that the paper brokerage answers in Alpaca's words.
package apierror

import (
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
)

// Error is an error answer.
type Error struct {
	Status  int
	Code    int // 0 when the body has none
	Message string
	Details []Detail // further members of the body
}

// Detail is a member of the body whose value is a string.
type Detail struct{ Name, Value string }

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Body returns the JSON object that Alpaca answers.
func (e *Error) Body() []byte {
	b := []byte{'{'}
	if e.Code != 0 {
		b = fmt.Appendf(b, `"code":%d,`, e.Code)
	}
	b = appendMember(b, "message", e.Message)
	for _, d := range e.Details {
		b = appendMember(append(b, ','), d.Name, d.Value)
	}
	return append(b, '}')
}

func appendMember(b []byte, name, value string) []byte {
	b, _ = jsontext.AppendQuote(b, name) // replaces invalid UTF-8; nothing else fails
	b, _ = jsontext.AppendQuote(append(b, ':'), value)
	return b
}

// FromStatus returns an error whose code is Alpaca's general one for the status: 40410000
// for 404.
func FromStatus(status int, message string) *Error {
	return &Error{Status: status, Code: status*100_000 + 10_000, Message: message}
}

// BadRequest returns an error for a request that is malformed.
func BadRequest(format string, args ...any) *Error {
	return FromStatus(http.StatusBadRequest, fmt.Sprintf(format, args...))
}

// Unprocessable returns an error for a value that is invalid or not supported.
func Unprocessable(format string, args ...any) *Error {
	return FromStatus(http.StatusUnprocessableEntity, fmt.Sprintf(format, args...))
}

// Forbidden returns an error for an order that the account cannot place.
func Forbidden(format string, args ...any) *Error {
	return FromStatus(http.StatusForbidden, fmt.Sprintf(format, args...))
}

// NotFound returns an error for a missing resource.
func NotFound(format string, args ...any) *Error {
	return FromStatus(http.StatusNotFound, fmt.Sprintf(format, args...))
}

// NoBuyingPower returns the error for an order that costs more than the buying power.
func NoBuyingPower(power, cost string) *Error {
	e := Forbidden("insufficient buying power")
	e.Details = []Detail{{"buying_power", power}, {"cost_basis", cost}}
	return e
}

// DuplicateOrder returns the error for a client order id that was used before.
func DuplicateOrder() *Error {
	return &Error{
		Status: http.StatusUnprocessableEntity, Code: 40010001, Message: "client_order_id must be unique",
	}
}

// TooSmall returns the error for an order under a dollar.
func TooSmall() *Error { return Unprocessable("notional amount must be >= 1.00") }

// RateLimited returns the error for a request beyond the rate limit.
func RateLimited() *Error {
	return FromStatus(http.StatusTooManyRequests, "rate limit exceeded")
}
