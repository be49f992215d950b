package rewards

import (
	"errors"

	"stockrewards/internal/money"
)

// Code is the kind of an Error. The API maps each to one HTTP status.
type Code int

// The codes. The caller can fix all but the last three.
const (
	CodeBadRequest    Code = iota + 1 // the request is malformed or out of range
	CodeUnauthorized                  // no valid key
	CodeForbidden                     // the key's app may not do this
	CodeTooMany                       // the app exceeds its limits
	CodeNotFound                      // the app has no such object
	CodeConflict                      // the request contradicts what is stored
	CodeUnprocessable                 // well formed, but the catalog or a limit forbids it
	CodeUpstream                      // the market has no usable price
	CodeUnavailable                   // not possible now, or its outcome is unknown: retry
	CodeInternal                      // a defect of the service
)

// Error is a failure that a client sees.
type Error struct {
	Code    Code
	Message string // for people, without a secret
	Details any    // nil, []Issue or one of the Details types
	Err     error  // the cause, for the log only
}

// Error returns the message with its cause.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Issue is one problem with a request.
type Issue struct {
	Path    string // the member or parameter; "" for the whole body
	Message string
}

// KeyDetails names the idempotency key of a conflict.
type KeyDetails struct{ IdempotencyKey string }

// DuplicateDetails names the member whose value is taken and the user who has it.
type DuplicateDetails struct {
	Field  string
	UserID UserID
}

// AssetDetails names the symbol that cannot be awarded.
type AssetDetails struct{ AssetSymbol string }

// MinAwardDetails is the smallest award that the operator accepts.
type MinAwardDetails struct{ MinAmount money.USD }

// CodeOf returns the code of an Error, and CodeInternal for any other error.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// Unavailable returns an Error with CodeUnavailable and the cause err, which may be nil.
func Unavailable(message string, err error) error {
	return &Error{Code: CodeUnavailable, Message: message, Err: err}
}

func notFound(what string) error {
	return &Error{Code: CodeNotFound, Message: what + " not found"}
}
