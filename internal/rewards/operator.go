package rewards

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Operator is who changes the books by a command, and why.
type Operator struct {
	Actor   string // "ann@db1": the user and the host that the operating system names
	Command string // "key revoke"
	Reason  string // "" when the command takes no reason and got none
}

// The limits of an operator's texts, in characters.
const (
	MaxReason = 1000
	maxActor  = 200
)

// ErrText says that a text can't be kept, because a terminal would obey a part of it.
var ErrText = errors.New("it must be plain text on one line")

// CheckText fails with ErrText when a text of an operator, such as a reason, has a
// character that a terminal would obey instead of showing it, and names the character.
// An empty text is allowed.
func CheckText(text string) error {
	if n := utf8.RuneCountInString(text); n > MaxReason {
		return fmt.Errorf("it has %d characters; at most %d are kept", n, MaxReason)
	}
	place := 0
	for i, r := range text {
		place++
		if _, size := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
			return fmt.Errorf("character %d is the byte 0x%02x, which is not UTF-8; %w", place, text[i], ErrText)
		}
		if !unicode.IsGraphic(r) {
			return fmt.Errorf("character %d is the control character %U; %w", place, r, ErrText)
		}
	}
	return nil
}

// Check fails when the operator log can't keep the operator's texts.
func (o Operator) Check() error {
	switch {
	case o.Actor == "" || o.Command == "":
		return errors.New("an operator needs an actor and a command")
	case utf8.RuneCountInString(o.Actor) > maxActor:
		return fmt.Errorf("the actor has more than %d characters", maxActor)
	}
	if err := errors.Join(CheckText(o.Actor), CheckText(o.Command)); err != nil {
		return fmt.Errorf("the operator %q of %q: %w", o.Actor, o.Command, err)
	}
	if err := CheckText(o.Reason); err != nil {
		return &Error{Code: CodeBadRequest, Message: "cannot keep the reason", Err: err}
	}
	return nil
}

// Field is one named value of an object. A name is of the letters a to z and A to Z.
type Field struct{ Name, Value string }

// State is what is known of an object, or the part of it that a deed is about.
type State []Field

// String is the state as it is kept: `name="acme" suspended="no"`; "" without fields.
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

// Value is the value of a field; "" when there is no such field.
func (s State) Value(name string) string {
	for _, f := range s {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// ErrState says that a text isn't a state as it is kept.
var ErrState = errors.New("not a state of the operator log")

// ParseState reads a state as it is kept. It fails with ErrState.
func ParseState(text string) (s State, err error) {
	for text != "" {
		name, rest, found := strings.Cut(text, "=")
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil || !found {
			return nil, ErrState
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, ErrState
		}
		s = append(s, Field{name, value})
		text = rest[len(quoted):]
		if text != "" {
			if text, found = strings.CutPrefix(text, " "); !found {
				return nil, ErrState
			}
		}
	}
	return s, nil
}

// YesNo is a truth as a state has it.
func YesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// Change is what a deed did to one object.
type Change struct {
	Object string // "app 0190c2a4-…", "asset 7", "ordering"
	Before State  // nil: the object is new
	After  State
}
