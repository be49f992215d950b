package rewards

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Operator is who changes the store by a command, and why.
type Operator struct {
	Actor   string // user and host of the operating system: "ann@db1"
	Command string // "key revoke"
	Reason  string // "" if the command got none
}

// The limits of an operator's strings, in characters.
const (
	MaxReason = 1000
	maxActor  = 200
)

// ErrText reports a string that is not plain text on one line, such as one with terminal
// escape sequences.
var ErrText = errors.New("must be plain text on one line")

// CheckText fails with ErrText, naming the character, when an operator's string is not valid
// UTF-8 or has a control character. It fails with another error when the string is longer
// than MaxReason. An empty string is valid.
func CheckText(text string) error {
	if n := utf8.RuneCountInString(text); n > MaxReason {
		return fmt.Errorf("too long: %d characters, the maximum is %d", n, MaxReason)
	}
	place := 0
	for i, r := range text {
		place++
		if _, size := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
			return fmt.Errorf("invalid character %d: the byte 0x%02x is not UTF-8; %w", place, text[i], ErrText)
		}
		if !unicode.IsGraphic(r) {
			return fmt.Errorf("invalid character %d: %U is not a visible character; %w", place, r, ErrText)
		}
	}
	return nil
}

// CheckName fails when an operator's name for something new could be mistaken for another one in a list, and as
// CheckText does.
func CheckName(name string) error {
	if strings.TrimSpace(name) != name {
		return errors.New("must not begin or end with a blank")
	}
	if err := CheckText(name); err != nil {
		return fmt.Errorf("has an %w", err)
	}
	return nil
}

// Check fails when the operator log cannot store one of the strings.
func (o Operator) Check() error {
	switch {
	case o.Actor == "" || o.Command == "":
		return errors.New("operator: actor and command must not be empty")
	case utf8.RuneCountInString(o.Actor) > maxActor:
		return fmt.Errorf("operator: the actor has more than %d characters", maxActor)
	}
	if err := errors.Join(CheckText(o.Actor), CheckText(o.Command)); err != nil {
		return fmt.Errorf("operator %q: command %q: %w", o.Actor, o.Command, err)
	}
	if err := CheckText(o.Reason); err != nil {
		return &Error{Code: CodeBadRequest, Message: "cannot store the reason", Err: err}
	}
	return nil
}

// Field is one named value of an object. A name has only the letters a to z and A to Z.
type Field struct{ Name, Value string }

// State is an object, or the part of it that a log entry is about, as named values.
type State []Field

// String returns the state as it is stored: `name="acme" suspended="no"`; "" without fields.
func (s State) String() string {
	var b strings.Builder
	for i, f := range s {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(f.Name + "=" + strconv.Quote(f.Value))
	}
	return b.String()
}

// Value returns the value of a field; "" if there is no such field.
func (s State) Value(name string) string {
	for _, f := range s {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// errState reports a string that is not a stored state.
var errState = errors.New("not a state of the operator log")

// ParseState reads a stored state. It fails with errState.
func ParseState(text string) (s State, err error) {
	for text != "" {
		name, rest, found := strings.Cut(text, "=")
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil || !found {
			return nil, errState
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, errState
		}
		s = append(s, Field{name, value})
		text = rest[len(quoted):]
		if text != "" {
			if text, found = strings.CutPrefix(text, " "); !found {
				return nil, errState
			}
		}
	}
	return s, nil
}

// YesNo returns a bool as states store it.
func YesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// Change is an operator's change of one object.
type Change struct {
	Object string // "app 0190c2a4-…", "asset 7", "ordering"
	Before State  // nil: the object is new
	After  State
}
