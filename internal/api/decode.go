package api

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// maxDepth bounds the nesting of a body; the body itself is level 1.
const maxDepth = 64

// form decodes the members of a body and collects every issue.
type form struct {
	members map[string]jsontext.Value
	issues  []rewards.Issue
}

// parse reads a body as one JSON object. An error about the whole body is its only issue.
func parse(body []byte) (*form, error) {
	whole := func(message string) error { return badRequest(rewards.Issue{Message: message}) }
	if depth(body) > maxDepth {
		return nil, whole("nested deeper than " + strconv.Itoa(maxDepth) + " levels")
	}
	f := &form{members: make(map[string]jsontext.Value)}
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	if kind := d.PeekKind(); kind != '{' && kind != 0 {
		return nil, whole("the body must be a JSON object")
	}
	if err := f.read(d); err != nil {
		return nil, whole(syntax(err))
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, whole("unexpected data after the JSON object")
	}
	return f, nil
}

func (f *form) read(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		member := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		f.members[member] = value.Clone()
	}
	_, err := d.ReadToken()
	return err
}

// syntax describes a syntax error for clients.
func syntax(err error) string {
	e, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return "not valid JSON"
	}
	message := "not valid JSON"
	if errors.Is(e.Err, jsontext.ErrDuplicateName) {
		message = "a member name occurs twice"
	}
	return message + " at byte " + strconv.FormatInt(e.ByteOffset, 10)
}

// depth returns the deepest nesting of brackets outside strings. It accepts invalid JSON.
func depth(body []byte) int {
	deepest, level, quoted := 0, 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '{' || c == '['):
			level++
			deepest = max(deepest, level)
		case !quoted && (c == '}' || c == ']'):
			level--
		}
	}
	return deepest
}

func (f *form) issue(path, message string) {
	f.issues = append(f.issues, rewards.Issue{Path: path, Message: message})
}

// err returns every issue as one error, or nil.
func (f *form) err() error {
	if len(f.issues) == 0 {
		return nil
	}
	return badRequest(f.issues...)
}

// member returns a member of the kind; null counts as absent.
func (f *form) member(name string, required bool, want jsontext.Kind) (jsontext.Value, bool) {
	v, given := f.members[name]
	given = given && v.Kind() != 'n'
	switch {
	case given && v.Kind() == want:
		return v, true
	case given:
		kinds := map[jsontext.Kind]string{'{': "an object", '[': "a list", '"': "a string", '0': "a number"}
		f.issue(name, "must be "+kinds[want]+", not "+cmp.Or(kinds[v.Kind()], string(v))) // true or false
	case required:
		f.issue(name, "is required")
	}
	return nil, false
}

// bounds limit the length of a string in Unicode code points.
type bounds struct{ least, most int }

// string reads a string without NUL characters. After an issue it returns "".
func (f *form) string(name string, required bool, b bounds) string {
	v, ok := f.member(name, required, '"')
	if !ok {
		return ""
	}
	s := unquote(v)
	n := utf8.RuneCountInString(s)
	switch {
	case n < b.least || n > b.most:
		f.issue(name, "must have "+strconv.Itoa(b.least)+" to "+strconv.Itoa(b.most)+" characters")
	case strings.ContainsRune(s, 0):
		f.issue(name, "must not contain a NUL character")
	default:
		return s
	}
	return ""
}

// userID reads a required user id.
func (f *form) userID(name string) rewards.UserID {
	v, ok := f.member(name, true, '"')
	if !ok {
		return rewards.UserID{}
	}
	id, err := rewards.ParseID[rewards.User](unquote(v))
	if err != nil {
		f.issue(name, err.Error())
	}
	return id
}

// unquote decodes a JSON string that the decoder has accepted.
func unquote(v jsontext.Value) string {
	s, _ := jsontext.AppendUnquote(nil, v) // cannot fail: the decoder has checked it
	return string(s)
}

// amount reads a required amount in dollars. The range applies to the exact number, before rounding.
func (f *form) amount(name string) money.USD {
	v, ok := f.member(name, true, '0')
	if !ok {
		return 0
	}
	number, err := money.ParseDecimal(string(v))
	if err != nil {
		f.issue(name, err.Error())
		return 0
	}
	if number.Sign() <= 0 || number.GreaterThan(rewards.MaxAmountDollars) {
		f.issue(name, "must be greater than 0 and at most "+strconv.Itoa(rewards.MaxAmountDollars))
		return 0
	}
	amount, err := number.USD()
	if err != nil || amount == 0 {
		f.issue(name, "is less than a millionth of a dollar")
		return 0
	}
	return amount
}

// metadata reads an optional object: kept has no white space, canonical is equal for
// all spellings of the same content. Both are "" if the object is absent or empty.
func (f *form) metadata(name string) (kept, canonical string) {
	v, ok := f.member(name, false, '{')
	if !ok {
		return "", ""
	}
	if err := v.Compact(); err != nil {
		f.issue(name, "must be an object")
		return "", ""
	}
	if len(v) > rewards.MaxMetadataBytes {
		f.issue(name, "must have at most "+strconv.Itoa(rewards.MaxMetadataBytes)+" bytes without white space")
		return "", ""
	}
	kept = string(v)
	if kept == "{}" {
		return "", ""
	}
	// Numbers stay as written: as floats, 9007199254740993 would equal 9007199254740992.
	err := v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err != nil {
		f.issue(name, "must be an object")
		return "", ""
	}
	return kept, string(v)
}
