package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// The codes of errors.
const (
	CodeBadRequest    = "bad_request"          // 400, 405, 413, 415: fix the request
	CodeUnauthorized  = "unauthorized"         // 401: the key is not valid
	CodeForbidden     = "forbidden"            // 403: the app is suspended; 429: it exceeds its limits
	CodeNotFound      = "not_found"            // 404
	CodeConflict      = "conflict"             // 409: the key or the user exists
	CodeUnprocessable = "unprocessable_entity" // 422: not in the catalog, or beyond a limit
	CodeInternal      = "internal_error"       // 500, 503
	CodeUpstream      = "upstream_error"       // 502: there is no market price
)

// Error is an answer that is an error. Use errors.AsType[*client.Error], or CodeOf.
type Error struct {
	Status    int             `json:"-"` // of HTTP; 0 when the request could not be made
	Code      string          `json:"code"`
	Message   string          `json:"message"`   // for people; it may change
	RequestID string          `json:"requestId"` // to report a problem to the operator
	Details   json.RawMessage `json:"details"`   // see the reference of each error; nil: none

	RetryAfter   time.Duration `json:"-"` // what the service asks for; 0: it asks for nothing
	Method, Path string        `json:"-"` // of the request
}

// Error implements error.
func (e *Error) Error() string {
	switch {
	case e.Status == 0:
		return fmt.Sprintf("%s %s: %s", e.Method, e.Path, e.Message)
	case e.RequestID == "":
		return fmt.Sprintf("%s %s: %d %s", e.Method, e.Path, e.Status, e.Message)
	}
	return fmt.Sprintf("%s %s: %d %s: %s (request %s)", e.Method, e.Path, e.Status, e.Code, e.Message, e.RequestID)
}

// Issue is one error in a request.
type Issue struct {
	Path    string `json:"path"` // such as "amountUsd"; "" for the whole body
	Message string `json:"message"`
}

// Issues lists what is wrong with a request whose status is 400.
func (e *Error) Issues() []Issue {
	var list []Issue
	if json.Unmarshal(e.Details, &list) != nil {
		return nil
	}
	return list
}

// CodeOf returns the code of an error; "" when it is not an answer of the service.
func CodeOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}
