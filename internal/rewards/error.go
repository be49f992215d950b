package rewards

import (
	"errors"

	"stockrewards/internal/money"
)

// Code says what kind of failure an Error is. The API maps each to one status.
type Code int

// The codes. All but the last two are the caller's to mend.
const (
	CodeBadRequest    Code = iota + 1 // the request is malformed or out of range
	CodeUnauthorized                  // no valid key
	CodeForbidden                     // the key's app may not do this
	CodeTooMany                       // the app sends more than its limits allow
	CodeNotFound                      // what is named does not exist in the app
	CodeConflict                      // it contradicts what is stored
	CodeUnprocessable                 // well formed, but the catalog or a limit forbids it
	CodeUpstream                      // the market tells no usable price
	CodeUnavailable                   // it cannot be taken now, or its outcome is unknown: ask again
	CodeInternal                      // a defect of the service
)

// Error is a failure that a client is told of.
type Error struct {
	Code    Code
	Message string // for people, without a secret
	Details any    // nil, []Issue or one of the Details types
	Err     error  // the cause, for the log only
}

// Error is the message with its cause.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Issue is one thing that is wrong with a request.
type Issue struct {
	Path    string // the member or parameter; "" is the body as a whole
	Message string
}

// KeyDetails names the idempotency key of a conflict.
type KeyDetails struct{ IdempotencyKey string }

// DuplicateDetails names the member that is taken and the user who has it.
type DuplicateDetails struct {
	Field  string
	UserID UserID
}

// AssetDetails names the symbol that cannot be given.
type AssetDetails struct{ AssetSymbol string }

// MinAwardDetails is the smallest amount of an award that the operator takes.
type MinAwardDetails struct{ MinAmount money.USD }

// CodeOf is the code of an error; one of another type is CodeInternal.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// Unavailable wraps the reason why the service cannot take a request now.
func Unavailable(message string, err error) error {
	return &Error{Code: CodeUnavailable, Message: message, Err: err}
}

func notFound(what string) error {
	return &Error{Code: CodeNotFound, Message: what + " not found"}
}
