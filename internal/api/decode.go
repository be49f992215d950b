package api

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// maxDepth is how deep a body may be nested; the body itself is level 1.
const maxDepth = 64

// form is a request body under inspection: its members, and every issue found so far.
type form struct {
	members map[string]jsontext.Value
	issues  []rewards.Issue
}

// parse reads a body as one JSON object. What is wrong with it as a whole is the
// only issue then.
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

// syntax is what a client is told of a syntax error.
func syntax(err error) string {
	e, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return "not valid JSON"
	}
	text := "not valid JSON"
	if errors.Is(e.Err, jsontext.ErrDuplicateName) {
		text = "a member name occurs twice"
	}
	return text + " at byte " + strconv.FormatInt(e.ByteOffset, 10)
}

// depth is how deep brackets are nested, outside of strings.
func depth(body []byte) int {
	deepest, level, quoted := 0, 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}

func (f *form) issue(path, message string) {
	f.issues = append(f.issues, rewards.Issue{Path: path, Message: message})
}

// err is every issue found, or nil.
func (f *form) err() error {
	if len(f.issues) == 0 {
		return nil
	}
	return badRequest(f.issues...)
}

// member finds a member; null counts as absent.
func (f *form) member(name string, required bool) (jsontext.Value, bool) {
	v, ok := f.members[name]
	if !ok || v.Kind() == 'n' {
		if required {
			f.issue(name, "is required")
		}
		return nil, false
	}
	return v, true
}

// kind names what a value is instead of what it must be.
func kind(v jsontext.Value) string {
	name, found := map[jsontext.Kind]string{'{': "an object", '[': "a list", '"': "a string", '0': "a number"}[v.Kind()]
	if !found {
		return string(v) // true or false
	}
	return name
}

// bounds are the least and the most characters (code points) of a text.
type bounds struct{ least, most int }

// text reads a member that is a text without NUL.
func (f *form) text(name string, required bool, b bounds) string {
	v, ok := f.member(name, required)
	if !ok {
		return ""
	}
	if v.Kind() != '"' {
		f.issue(name, "must be a string, not "+kind(v))
		return ""
	}
	unquoted, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		f.issue(name, "must be a string")
		return ""
	}
	s := string(unquoted)
	n := utf8.RuneCountInString(s)
	switch {
	case n < b.least || n > b.most:
		f.issue(name, "must have "+strconv.Itoa(b.least)+" to "+strconv.Itoa(b.most)+" characters")
	case strings.ContainsRune(s, 0):
		f.issue(name, "must not hold a NUL character")
	default:
		return s
	}
	return ""
}

// userID reads a member that is a user's id.
func (f *form) userID(name string) rewards.UserID {
	v, ok := f.member(name, true)
	if !ok {
		return rewards.UserID{}
	}
	text, err := jsontext.AppendUnquote(nil, v)
	if v.Kind() != '"' || err != nil {
		f.issue(name, "must be a string, not "+kind(v))
		return rewards.UserID{}
	}
	id, err := rewards.ParseID[rewards.User](string(text))
	if err != nil {
		f.issue(name, err.Error())
	}
	return id
}

// amount reads a member that is an amount of dollars, exactly: its range is that of
// the number as written.
func (f *form) amount(name string) money.USD {
	v, ok := f.member(name, true)
	if !ok {
		return 0
	}
	if v.Kind() != '0' {
		f.issue(name, "must be a number, not "+kind(v))
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

// metadata reads a member that is an object: without white space as it is kept,
// and in the form in which all spellings of one content are the same. Both are ""
// for none and for {}.
func (f *form) metadata(name string) (kept, canonical string) {
	v, ok := f.member(name, false)
	if !ok {
		return "", ""
	}
	if v.Kind() != '{' {
		f.issue(name, "must be an object, not "+kind(v))
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
	// Numbers stay as written: through a float, 9007199254740993 would equal …992.
	err := v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err != nil {
		f.issue(name, "must be an object")
		return "", ""
	}
	return kept, string(v)
}
