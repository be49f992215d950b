package config

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"stockrewards/internal/rewards"
)

// MaxFile is the largest file, in bytes.
const MaxFile = 1 << 20

// reader reads a file and collects its issues.
type reader struct{ issues Issues }

// object is a mapping that is being read.
type object struct {
	*reader
	at      place
	members map[string]*yaml.Node // nil if it is no mapping, which is an issue already
}

// parse returns the top of a file's only document.
func parse(text []byte) (*yaml.Node, error) {
	if len(text) > MaxFile {
		return nil, Issues{{Reason: "the file is larger than " + strconv.Itoa(MaxFile) + " bytes"}}
	}
	var document, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	switch err := d.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, Issues{{Reason: "the file is empty: it must have apps"}}
	case err != nil:
		return nil, Issues{{Reason: "cannot read YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}}
	case len(document.Content) != 1:
		return nil, Issues{{Reason: "the file is empty: it must have apps"}}
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, Issues{{Line: more.Line, Reason: "the file must be one document"}}
	}
	return document.Content[0], nil
}

// object reads a mapping. Unknown members and duplicates are issues.
func (r *reader) object(n *yaml.Node, path string, known ...string) object {
	o := object{reader: r, at: place{n.Line, path}}
	if n.Kind != yaml.MappingNode {
		r.issues.add(o.at, "must have members: %s", strings.Join(known, ", "))
		return o
	}
	o.members = make(map[string]*yaml.Node)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		at := place{name.Line, join(path, name.Value)}
		switch {
		case name.Value == "leastAward":
			r.issues.add(at, "is a setting of the service: serve --least-award")
		case slices.Contains([]string{"key", "keys", "secret", "secrets"}, name.Value):
			r.issues.add(at, "the file must have no keys and no secrets: apply makes them")
		case name.Kind != yaml.ScalarNode || !slices.Contains(known, name.Value):
			r.issues.add(at, "no such member; the nearest one is %s", rewards.Nearest(name.Value, known))
		case o.members[name.Value] != nil:
			r.issues.add(at, "appears twice; first in line %d", o.members[name.Value].Line)
		default:
			o.members[name.Value] = value
		}
	}
	return o
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// place returns where a member is, or where the object is that lacks it.
func (o object) place(name string) place {
	at := place{o.at.line, join(o.at.path, name)}
	if n := o.members[name]; n != nil {
		at.line = n.Line
	}
	return at
}

// lacks reports whether a mapping has no such member.
func (o object) lacks(name string) bool { return o.members != nil && o.members[name] == nil }

func (o object) issue(name, format string, values ...any) {
	o.issues.add(o.place(name), format, values...)
}

// list returns the items of a list; false when it is absent or is no list.
func (o object) list(name string) ([]*yaml.Node, bool) {
	n := o.members[name]
	if n == nil {
		return nil, false
	}
	if n.Kind != yaml.SequenceNode {
		o.issue(name, "must be a list%s; [] is an empty one", aliased(n))
		return nil, false
	}
	return n.Content, true
}

// aliased says, when a value is an alias, why it does not have the kind that it must have.
func aliased(n *yaml.Node) string {
	if n.Kind == yaml.AliasNode {
		return " (aliases such as *" + n.Value + " are not read)"
	}
	return ""
}

// item returns the path of an item of a list.
func (o object) item(name string, i int) string {
	return join(o.at.path, name) + "[" + strconv.Itoa(i) + "]"
}

// scalar returns the text of a member whose YAML type is one of some; "" when it is absent or of
// another type. Numbers keep every digit.
func (o object) scalar(name, must string, types ...string) (text string, given bool) {
	n := o.members[name]
	if n == nil {
		return "", false
	}
	if n.Kind != yaml.ScalarNode || !slices.Contains(types, n.Tag) {
		o.issue(name, "must be %s", must)
		return "", false
	}
	return n.Value, true
}

// text returns a string; an empty or invalid one is an issue.
func (o object) text(name string, required bool, most int) string {
	text, given := o.scalar(name, "a string; quote it", "!!str")
	if required && o.lacks(name) {
		o.issue(name, "is missing")
	}
	if !given {
		return ""
	}
	if n := len([]rune(text)); n < 1 || n > most {
		o.issue(name, "must have 1 to %d characters", most)
	} else if err := rewards.CheckText(text); err != nil {
		o.issue(name, "%s", err)
	}
	return text
}

// whole returns a number of requests; nil when it is absent.
func (o object) whole(name string) *int {
	const must = "a whole number, such as 100"
	text, given := o.scalar(name, must, "!!int")
	if !given {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		o.issue(name, "must be %s", must)
		return nil
	}
	return &n
}

// flag returns true or false; nil when it is absent.
func (o object) flag(name string) *bool {
	const must = "true or false"
	text, given := o.scalar(name, must, "!!bool")
	if !given {
		return nil
	}
	if text != "true" && text != "false" {
		o.issue(name, "must be %s", must)
	}
	return new(text == "true")
}

// choice returns one of some words; "" when it is absent.
func (o object) choice(name string, required bool, words ...string) string {
	must := strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
	text, given := o.scalar(name, must, "!!str")
	switch {
	case required && o.lacks(name):
		o.issue(name, "is missing: it must be %s", must)
	case given && !slices.Contains(words, text):
		o.issue(name, "must be %s", must)
	}
	return text
}
