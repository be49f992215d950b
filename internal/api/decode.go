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
	members []member
	issues  []rewards.Issue
	ofPath  int                  // the issues that are not of the body
	unread  bool                 // the body is no sound object: which members it has is not known
	usual   [usualMembers]member // the first members, so that one allocation has them
}

// member is a member of a body. Both slices are parts of the body.
type member struct {
	name  jsontext.Value // with quotation marks
	value jsontext.Value
}

const usualMembers = 8 // at least as many as a handler reads

// parse reads a body as one JSON object. An error about the whole body is its only issue.
func (s *server) parse(body []byte) (*form, error) {
	f := new(form)
	f.members = f.usual[:0]
	return f, s.decode(body, f)
}

// reader reads an object of a body that d decodes.
type reader interface {
	read(d *jsontext.Decoder, body []byte) error
}

// decode gives a body to r, as one JSON object.
func (s *server) decode(body []byte, r reader) error {
	whole := func(message string) error { return badRequest(rewards.Issue{Message: message}) }
	if len(bytes.TrimSpace(body)) == 0 {
		return whole("the body is empty; it must be a JSON object")
	}
	if depth(body) > maxDepth {
		return whole("nested deeper than " + strconv.Itoa(maxDepth) + " levels")
	}
	d, ok := s.decoders.Get().(*jsontext.Decoder)
	if !ok {
		d = new(jsontext.Decoder)
	}
	defer s.decoders.Put(d)
	d.Reset(bytes.NewBuffer(body))
	if kind := d.PeekKind(); kind != '{' && kind != 0 {
		return whole("the body must be a JSON object")
	}
	if err := r.read(d, body); err != nil {
		return whole(syntax(err))
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return whole("unexpected data after the JSON object")
	}
	return nil
}

// next reads a value as a part of the body.
func next(d *jsontext.Decoder, body []byte) (jsontext.Value, error) {
	v, err := d.ReadValue()
	end := d.InputOffset()
	return body[end-int64(len(v)) : end], err // v itself is valid only until the next read
}

func (f *form) read(d *jsontext.Decoder, body []byte) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := next(d, body)
		if err != nil {
			return err
		}
		value, err := next(d, body)
		if err != nil {
			return err
		}
		f.members = append(f.members, member{name, value})
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
	message, why := "not valid JSON", ""
	switch text := e.Err.Error(); {
	case errors.Is(e.Err, jsontext.ErrDuplicateName):
		message = "a member name occurs twice"
	case errors.Is(e.Err, io.ErrUnexpectedEOF):
		why = ": it ends too early"
	case strings.Contains(text, "surrogate"):
		why = ": half of a surrogate pair in a string"
	case strings.Contains(text, "UTF-8"):
		why = ": a string is not UTF-8"
	}
	message += " at byte " + strconv.FormatInt(e.ByteOffset, 10)
	if e.JSONPointer != "" {
		message += ", in " + named(string(e.JSONPointer))
	}
	return message + why
}

// depth returns the deepest nesting of brackets outside strings, or an upper
// bound that is at most maxDepth. It accepts invalid JSON.
func depth(body []byte) int {
	if most := bytes.Count(body, []byte("{")) + bytes.Count(body, []byte("[")); most <= maxDepth {
		return most
	}
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

// sound reports whether the body was read, and no member that was looked at has an issue.
func (f *form) sound() bool { return !f.unread && len(f.issues) == f.ofPath }

// find returns the value of a member, or nil.
func (f *form) find(name string) jsontext.Value {
	for _, m := range f.members {
		if spells(m.name, name) {
			return m.value
		}
	}
	return nil
}

// given reports whether a member is there and not null.
func (f *form) given(name string) bool {
	v := f.find(name)
	return v != nil && v.Kind() != 'n'
}

// spells reports whether a JSON string has the content want.
func spells(v jsontext.Value, want string) bool {
	plain := v[1 : len(v)-1]
	return string(plain) == want || escaped(v) && unquote(v) == want
}

// member returns a member of the kind; null counts as absent.
func (f *form) member(name string, required bool, want jsontext.Kind) (jsontext.Value, bool) {
	v, given := f.find(name), f.given(name)
	switch {
	case given && v.Kind() == want:
		return v, true
	case given:
		kinds := map[jsontext.Kind]string{'{': "an object", '[': "a list", '"': "a string", '0': "a number"}
		f.issue(name, "must be "+kinds[want]+", not "+cmp.Or(kinds[v.Kind()], string(v))) // true or false
	case required && !f.unread:
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

func escaped(v jsontext.Value) bool { return bytes.IndexByte(v, '\\') >= 0 }

// unquote decodes a JSON string that the decoder has accepted.
func unquote(v jsontext.Value) string {
	if !escaped(v) {
		return string(v[1 : len(v)-1])
	}
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
	if len(v) > rewards.MaxMetadataBytes { // what is too long is not put into order, which takes longer
		if err := v.Compact(); err == nil && len(v) > rewards.MaxMetadataBytes {
			f.issue(name, "must have at most "+strconv.Itoa(rewards.MaxMetadataBytes)+" bytes without white space")
			return "", ""
		}
	}
	// Numbers stay as written: as floats, 9007199254740993 would equal 9007199254740992.
	c, err := jsontext.AppendFormat(nil, v, jsontext.ReorderRawObjects(true))
	if err == nil && !bytes.Equal(v, c) { // most clients write the canonical form
		err = v.Compact()
	}
	switch {
	case err != nil:
		f.issue(name, "must be an object")
	case string(v) != "{}":
		kept = string(v)
		if bytes.Equal(v, c) {
			return kept, kept
		}
		return kept, string(c)
	}
	return "", ""
}
