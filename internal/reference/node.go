package reference

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// node is a JSON value that keeps the order of its members and every digit.
type node struct {
	kind  jsontext.Kind // 0 for a missing value
	text  string        // of a string, a number or a literal
	names []string      // of an object's members
	items []node        // members of an object, or elements of an array
}

// parse reads one JSON value.
func parse(text []byte) (node, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	n, err := read(d)
	if err != nil {
		return n, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return n, errors.New("unexpected data after the JSON value")
	}
	return n, nil
}

func read(d *jsontext.Decoder) (node, error) {
	token, err := d.ReadToken()
	if err != nil {
		return node{}, err
	}
	n := node{kind: token.Kind()}
	if n.kind != jsontext.KindBeginObject && n.kind != jsontext.KindBeginArray {
		n.text = token.String()
		return n, nil
	}
	for end := d.PeekKind(); end != jsontext.KindEndObject && end != jsontext.KindEndArray; end = d.PeekKind() {
		if n.kind == jsontext.KindBeginObject {
			name, err := d.ReadToken()
			if err != nil {
				return n, err
			}
			n.names = append(n.names, name.String())
		}
		item, err := read(d)
		if err != nil {
			return n, err
		}
		n.items = append(n.items, item)
	}
	_, err = d.ReadToken()
	return n, err
}

// get returns the member at a path of names; a zero node when it is missing.
func (n node) get(path ...string) node {
	for _, name := range path {
		n = n.member(name)
	}
	return n
}

func (n node) member(name string) node {
	for i, found := range n.names {
		if found == name {
			return n.items[i]
		}
	}
	return node{}
}

func (n node) exists() bool { return n.kind != 0 }

func (n node) isObject() bool { return n.kind == jsontext.KindBeginObject }

// strings are those of an array's elements.
func (n node) strings() []string {
	var list []string
	for _, item := range n.items {
		list = append(list, item.text)
	}
	return list
}

// without returns an object without a member.
func (n node) without(name string) node {
	var kept node
	kept.kind = n.kind
	for i, found := range n.names {
		if found != name {
			kept.names, kept.items = append(kept.names, found), append(kept.items, n.items[i])
		}
	}
	return kept
}

// syntax is how a language writes a value.
type syntax struct {
	name    func(string) string              // of a member
	literal func(name string, n node) string // of what is neither object nor array; name is the member's
}

// write writes a value with two spaces for each level. Short arrays and objects stay on a line.
func (s syntax) write(n node, name, indent string) string {
	open, closing := "{", "}"
	switch n.kind {
	case jsontext.KindBeginArray:
		open, closing = "[", "]"
	case jsontext.KindBeginObject:
	default:
		return s.literal(name, n)
	}
	var parts []string
	for i, item := range n.items {
		part := ""
		member := name
		if n.isObject() {
			member = n.names[i]
			part = s.name(member) + ": "
		}
		parts = append(parts, part+s.write(item, member, indent+"  "))
	}
	const short = 72 // characters of a line
	line := strings.Join(parts, ", ")
	if len(line) <= short && !strings.Contains(line, "\n") {
		return open + line + closing
	}
	inner := "\n" + indent + "  "
	return open + inner + strings.Join(parts, ","+inner) + "\n" + indent + closing
}

// quoted is a string in JSON's syntax, which is also that of Go, Python and JavaScript for
// the strings of the document.
func quoted(text string) string {
	b, err := jsontext.AppendQuote(nil, text)
	if err != nil { // the parser refuses invalid UTF-8
		return `""`
	}
	return string(b)
}

func asJSON(_ string, n node) string {
	if n.kind == jsontext.KindString {
		return quoted(n.text)
	}
	return n.text
}

// json writes a value as JSON.
func (n node) json() string { return syntax{quoted, asJSON}.write(n, "", "") }
