package api

import (
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/rewards"
)

// object appends a JSON object to a buffer, member by member. Member names are
// constants that need no escaping.
type object struct {
	b     []byte
	empty bool
}

// usualReply is the size in bytes that most responses fit into.
const usualReply = 512

// begin starts an object at the end of b; a nil b is allocated.
func begin(b []byte) object {
	if b == nil {
		b = make([]byte, 0, usualReply)
	}
	return object{b: append(b, '{'), empty: true}
}

func (o *object) end() []byte { return append(o.b, '}') }

// reply ends the object and replies with it. The buffer is used again after the response.
func (o *object) reply(status int) reply { return reply{status: status, body: o.end(), reusable: true} }

func (o *object) name(name string) {
	if !o.empty {
		o.b = append(o.b, ',')
	}
	o.empty = false
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

func (o *object) string(name, value string) {
	o.name(name)
	o.b, _ = jsontext.AppendQuote(o.b, value) // the error is about invalid UTF-8, which is replaced
}

// optional writes null for "".
func (o *object) optional(name, value string) {
	if value == "" {
		o.raw(name, "null")
		return
	}
	o.string(name, value)
}

func (o *object) boolean(name string, value bool) { o.raw(name, strconv.FormatBool(value)) }

func (o *object) integer(name string, value int) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, int64(value), 10)
}

// number writes a number that appendTo appends.
func (o *object) number(name string, appendTo func([]byte) []byte) {
	o.name(name)
	o.b = appendTo(o.b)
}

// id writes an id that appendTo appends.
func (o *object) id(name string, appendTo func([]byte) []byte) {
	o.name(name)
	o.b = append(o.b, '"')
	o.b = appendTo(o.b)
	o.b = append(o.b, '"')
}

// time writes a timestamp in UTC with milliseconds.
func (o *object) time(name string, t time.Time) {
	o.name(name)
	o.b = t.UTC().AppendFormat(append(o.b, '"'), time.RFC3339) // several times as fast as any other format
	ms := t.Nanosecond() / int(time.Millisecond)
	o.b = append(o.b[:len(o.b)-1], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z', '"')
}

// optionalTime writes null for the zero time.
func (o *object) optionalTime(name string, t time.Time) {
	if t.IsZero() {
		o.raw(name, "null")
		return
	}
	o.time(name, t)
}

// raw writes a value that is already JSON.
func (o *object) raw(name, value string) {
	o.name(name)
	o.b = append(o.b, value...)
}

// appendObject writes a member whose value appendOne appends.
func appendObject[T any](o *object, name string, appendOne func([]byte, T) []byte, value T) {
	o.name(name)
	o.b = appendOne(o.b, value)
}

// appendList writes an array whose elements appendOne appends.
func appendList[T any](o *object, name string, values []T, appendOne func([]byte, T) []byte) {
	o.name(name)
	o.b = append(o.b, '[')
	before := len(o.b)
	for i, v := range values {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = appendOne(o.b, v)
		if i == 0 { // the rest will be about as long
			o.b = slices.Grow(o.b, len(values)*(len(o.b)-before))
		}
	}
	o.b = append(o.b, ']')
}

func appendError(b []byte, code string, e *rewards.Error, id string) []byte {
	inner := beginError(nil, code, e)
	inner.string("requestId", id)
	o := begin(b)
	o.raw("error", string(inner.end()))
	return o.end()
}

// beginError starts an error's object.
func beginError(b []byte, code string, e *rewards.Error) object {
	o := begin(b)
	o.string("code", code)
	o.string("message", e.Message)
	appendDetails(&o, e.Details)
	return o
}

// appendDetails writes the member "details", if there are any.
func appendDetails(o *object, details any) {
	inner := begin(nil)
	switch d := details.(type) {
	case []rewards.Issue:
		appendList(o, "details", d, func(b []byte, i rewards.Issue) []byte {
			issue := begin(b)
			issue.string("path", i.Path)
			issue.string("message", i.Message)
			return issue.end()
		})
		return
	case rewards.KeyDetails:
		inner.string("idempotencyKey", d.IdempotencyKey)
	case rewards.AssetDetails:
		inner.string("assetSymbol", d.AssetSymbol)
	case rewards.RewardDetails:
		inner.id("rewardId", d.RewardID.Append)
		inner.string("status", d.Status.String())
	case rewards.LeftDetails:
		inner.number("leftUsd", d.Left.Append)
	case rewards.MinAwardDetails:
		inner.number("leastUsd", d.MinAmount.Append)
	case rewards.BudgetDetails:
		inner.string("budget", d.Budget)
		inner.number("limitUsd", d.Limit.Append)
		inner.number("leftUsd", d.Left.Append)
		inner.optionalTime("resetsAt", d.ResetsAt)
	case rewards.DuplicateDetails:
		inner.string("field", d.Field)
		inner.id("userId", d.UserID.Append)
	default:
		return
	}
	o.raw("details", string(inner.end()))
}
