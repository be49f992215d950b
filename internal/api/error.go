package api

import (
	"errors"
	"net/http"
	"strconv"

	"stockrewards/internal/rewards"
)

type httpCode struct {
	status int
	code   string
}

// statuses maps each error code of the domain to its HTTP status and its code in the
// error body (specification, section 7).
func statuses() map[rewards.Code]httpCode {
	return map[rewards.Code]httpCode{
		rewards.CodeBadRequest:    {http.StatusBadRequest, "bad_request"},
		rewards.CodeUnauthorized:  {http.StatusUnauthorized, "unauthorized"},
		rewards.CodeForbidden:     {http.StatusForbidden, "forbidden"},
		rewards.CodeTooMany:       {http.StatusTooManyRequests, "forbidden"},
		rewards.CodeNotFound:      {http.StatusNotFound, "not_found"},
		rewards.CodeConflict:      {http.StatusConflict, "conflict"},
		rewards.CodeUnprocessable: {http.StatusUnprocessableEntity, "unprocessable_entity"},
		rewards.CodeUpstream:      {http.StatusBadGateway, "upstream_error"},
		rewards.CodeUnavailable:   {http.StatusServiceUnavailable, "internal_error"},
		rewards.CodeInternal:      {http.StatusInternalServerError, "internal_error"},
	}
}

// tooLarge refuses a body beyond a limit in bytes.
func tooLarge(limit int) error {
	size := strconv.Itoa(limit>>10) + " KiB"
	if limit >= 1<<20 {
		size = strconv.Itoa(limit>>20) + " MiB"
	}
	return &httpError{http.StatusRequestEntityTooLarge, "the body is larger than " + size}
}

// httpError is an error that exists only in HTTP.
type httpError struct {
	status  int
	message string
}

// Error implements error.
func (e *httpError) Error() string { return e.message }

// errMethod refuses a method; allow lists the methods of the route.
type errMethod struct{ allow string }

// Error implements error.
func (e errMethod) Error() string { return "method not allowed; allowed: " + e.allow }

// describe returns the HTTP status, the error code and the error that the client sees.
func describe(err error) (int, string, *rewards.Error) {
	if e, ok := errors.AsType[*httpError](err); ok {
		return e.status, "bad_request", &rewards.Error{Message: e.message}
	}
	if e, ok := errors.AsType[errMethod](err); ok {
		return http.StatusMethodNotAllowed, "bad_request", &rewards.Error{Message: e.Error()}
	}
	e, ok := errors.AsType[*rewards.Error](err)
	if !ok || e.Code == rewards.CodeInternal {
		e = &rewards.Error{Code: rewards.CodeInternal, Message: "an internal error; the request id helps to find it"}
	}
	row := statuses()[e.Code]
	return row.status, row.code, e
}

func badRequest(issues ...rewards.Issue) error {
	return &rewards.Error{Code: rewards.CodeBadRequest, Message: "the request is not valid", Details: issues}
}
