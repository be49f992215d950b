package api

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/rewards"
)

// object writes a JSON object member by member into a buffer. Names are constants
// that need no escape; text is quoted by jsontext.
type object struct {
	b     []byte
	empty bool
}

// usualReply is what most answers fit into, in bytes.
const usualReply = 512

// begin begins an object behind what the buffer holds; a nil one is made.
func begin(b []byte) object {
	if b == nil {
		b = make([]byte, 0, usualReply)
	}
	return object{b: append(b, '{'), empty: true}
}

func (o *object) end() []byte { return append(o.b, '}') }

func (o *object) name(name string) {
	if !o.empty {
		o.b = append(o.b, ',')
	}
	o.empty = false
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

func (o *object) text(name, value string) {
	o.name(name)
	o.b = appendText(o.b, value)
}

// optional writes null for "".
func (o *object) optional(name, value string) {
	if value == "" {
		o.null(name)
		return
	}
	o.text(name, value)
}

func (o *object) null(name string) {
	o.name(name)
	o.b = append(o.b, "null"...)
}

func (o *object) boolean(name string, value bool) {
	o.name(name)
	if value {
		o.b = append(o.b, "true"...)
	} else {
		o.b = append(o.b, "false"...)
	}
}

// appender is a quantity or an id that writes itself.
type appender interface{ Append(b []byte) []byte }

func (o *object) number(name string, value appender) {
	o.name(name)
	o.b = value.Append(o.b)
}

func (o *object) id(name string, value appender) {
	o.name(name)
	o.b = append(o.b, '"')
	o.b = value.Append(o.b)
	o.b = append(o.b, '"')
}

// time writes UTC with milliseconds.
func (o *object) time(name string, t time.Time) {
	o.name(name)
	o.b = append(o.b, '"')
	o.b = t.UTC().AppendFormat(o.b, "2006-01-02T15:04:05.000Z")
	o.b = append(o.b, '"')
}

// raw writes a value that is JSON already.
func (o *object) raw(name, value string) {
	o.name(name)
	o.b = append(o.b, value...)
}

// list writes an array of what each appends.
func list[T any](o *object, name string, values []T, each func([]byte, T) []byte) {
	o.name(name)
	o.b = append(o.b, '[')
	before := len(o.b)
	for i, v := range values {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = each(o.b, v)
		if i == 0 { // the others will be about as long
			o.b = slices.Grow(o.b, len(values)*(len(o.b)-before))
		}
	}
	o.b = append(o.b, ']')
}

func appendText(b []byte, s string) []byte {
	quoted, _ := jsontext.AppendQuote(b, s) // invalid UTF-8, which no checked input holds, is replaced
	return quoted
}

func appendError(b []byte, code string, e *rewards.Error, id string) []byte {
	inner := begin(nil)
	inner.text("code", code)
	inner.text("message", e.Message)
	appendDetails(&inner, e.Details)
	inner.text("requestId", id)
	o := begin(b)
	o.raw("error", string(inner.end()))
	return o.end()
}

func appendDetails(o *object, details any) {
	switch d := details.(type) {
	case []rewards.Issue:
		list(o, "details", d, func(b []byte, i rewards.Issue) []byte {
			issue := begin(b)
			issue.text("path", i.Path)
			issue.text("message", i.Message)
			return issue.end()
		})
	case rewards.KeyDetails:
		o.details("idempotencyKey", d.IdempotencyKey)
	case rewards.AssetDetails:
		o.details("assetSymbol", d.AssetSymbol)
	case rewards.MinAwardDetails:
		inner := begin(nil)
		inner.number("leastUsd", d.MinAmount)
		o.raw("details", string(inner.end()))
	case rewards.DuplicateDetails:
		inner := begin(nil)
		inner.text("field", d.Field)
		inner.id("userId", d.UserID)
		o.raw("details", string(inner.end()))
	}
}

func (o *object) details(name, value string) {
	inner := begin(nil)
	inner.text(name, value)
	o.raw("details", string(inner.end()))
}
