package paper

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
)

// apiError is an answer that is not a success, with Alpaca's status, code and
// words.
type apiError struct {
	status  int
	code    int // 0 when the body has none
	message string
	more    []member // further members of the body
}

// member is a member of a JSON object whose value is a string.
type member struct{ name, value string }

// Error is the message.
func (e *apiError) Error() string { return e.message }

// body is the error as Alpaca writes one.
func (e *apiError) body() []byte {
	b := []byte{'{'}
	if e.code != 0 {
		b = fmt.Appendf(b, `"code":%d,`, e.code)
	}
	b = appendMember(b, member{"message", e.message})
	for _, m := range e.more {
		b = appendMember(append(b, ','), m)
	}
	return append(b, '}')
}

func appendMember(b []byte, m member) []byte {
	b, _ = jsontext.AppendQuote(b, m.name) // invalid UTF-8 is replaced, the rest can't fail
	b = append(b, ':')
	b, _ = jsontext.AppendQuote(b, m.value)
	return b
}

// The codes of Alpaca's errors.
const (
	codeBadRequest   = 40010000
	codeDuplicate    = 40010001
	codeForbidden    = 40310000
	codeNotFound     = 40410000
	codeConflict     = 40910000
	codeUnprocessed  = 42210000
	codeRateLimit    = 42910000
	codeServerFailed = 50010000
)

func badRequest(message string) *apiError {
	return &apiError{status: http.StatusBadRequest, code: codeBadRequest, message: message}
}

func unprocessable(format string, args ...any) *apiError {
	return &apiError{
		status: http.StatusUnprocessableEntity, code: codeUnprocessed, message: fmt.Sprintf(format, args...),
	}
}

func forbidden(format string, args ...any) *apiError {
	return &apiError{status: http.StatusForbidden, code: codeForbidden, message: fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) *apiError {
	return &apiError{status: http.StatusNotFound, code: codeNotFound, message: fmt.Sprintf(format, args...)}
}

func conflict(format string, args ...any) *apiError {
	return &apiError{status: http.StatusConflict, code: codeConflict, message: fmt.Sprintf(format, args...)}
}

func isNotFound(err error) bool {
	e, ok := errors.AsType[*apiError](err)
	return ok && e.status == http.StatusNotFound
}

func duplicateOrder() *apiError {
	return &apiError{
		status:  http.StatusUnprocessableEntity,
		code:    codeDuplicate,
		message: "client_order_id must be unique",
	}
}

func rateLimited() *apiError {
	return &apiError{status: http.StatusTooManyRequests, code: codeRateLimit, message: "rate limit exceeded"}
}

func internal() *apiError {
	return &apiError{
		status:  http.StatusInternalServerError,
		code:    codeServerFailed,
		message: "internal server error occurred",
	}
}
