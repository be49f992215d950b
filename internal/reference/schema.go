package reference

import (
	"html/template"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// member is a row of a table of members or parameters.
type member struct {
	Name     string // "error.code" for a member of an unnamed object
	Where    string // of a parameter: "path", "query" or "header"
	Type     typeOf
	Limits   []string // such as "8 to 128 characters"
	Required bool
	Optional bool // an answer may lack it
	Text     template.HTML
}

// typeOf is a member's type, with a link when it is an object that has a section.
type typeOf struct {
	Text   string // such as "list of"
	Object string // the name of the object; "" for other types
	Null   bool   // null is possible
}

// resolve follows a reference. Members beside the reference win.
func (d *renderer) resolve(n node) (resolved node, name string) {
	for range maxReferences {
		ref := n.get("$ref").text
		if ref == "" {
			return n, name
		}
		path := strings.Split(strings.TrimPrefix(ref, "#/"), "/")
		target := d.root.get(path...)
		name = path[len(path)-1]
		beside := n.without("$ref")
		for i, other := range target.names {
			if !beside.member(other).exists() {
				beside.names, beside.items = append(beside.names, other), append(beside.items, target.items[i])
			}
		}
		beside.kind = target.kind
		n = beside
	}
	return n, name
}

// maxReferences limits a chain of references, which could be a circle.
const maxReferences = 8

// members lists the members of an object's schema, and below each those of an unnamed
// object. Alternatives are listed one after the other.
func (d *renderer) members(schema node, prefix string) []member {
	schema, _ = d.resolve(schema)
	required := schema.get("required").strings()
	var list []member
	properties := schema.get("properties")
	answers := schema.get("additionalProperties").kind == jsontext.KindFalse // requests may have more members
	for i, name := range properties.names {
		found := d.member(properties.items[i], prefix+name, slices.Contains(required, name) && !answers)
		found[0].Optional = answers && !slices.Contains(required, name)
		list = append(list, found...)
	}
	for _, combined := range []string{"allOf", "oneOf", "anyOf"} {
		for _, part := range schema.get(combined).items {
			for _, m := range d.members(part, prefix) {
				if !slices.ContainsFunc(list, func(known member) bool { return known.Name == m.Name }) {
					list = append(list, m)
				}
			}
		}
	}
	return list
}

// member describes a property, and the members of an unnamed object.
func (d *renderer) member(property node, name string, required bool) []member {
	schema, _ := d.resolve(property)
	m := member{
		Name: name, Type: d.typeOf(property), Limits: d.limits(schema), Required: required,
		Text: d.inline(schema.get("description").text),
	}
	list := []member{m}
	if m.Type.Object == "" {
		inner, below := schema, name+"."
		if items := schema.get("items"); items.exists() {
			inner, below = items, name+"[]."
			if inner.get("$ref").exists() {
				return list
			}
		}
		list = append(list, d.members(inner, below)...)
	}
	return list
}

// typeOf finds the type of a schema in a reader's words.
func (d *renderer) typeOf(property node) typeOf {
	schema, name := d.resolve(property)
	kinds := schema.get("type").strings()
	if len(kinds) == 0 {
		kinds = []string{schema.get("type").text}
	}
	t := typeOf{Null: slices.Contains(kinds, "null")}
	kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "null" })
	for _, combined := range []string{"oneOf", "anyOf"} {
		for _, part := range schema.get(combined).items {
			if part.get("type").text == "null" {
				t.Null = true
			} else if inner := d.typeOf(part); t.Text == "" && t.Object == "" {
				t.Text, t.Object = inner.Text, inner.Object
			}
		}
	}
	if t.Text != "" || t.Object != "" {
		return t
	}
	switch kind := strings.Join(kinds, " or "); {
	case kind == "object" && name != "":
		t.Object = name
		d.used[name] = true
	case kind == "array":
		inner := d.typeOf(schema.get("items"))
		t.Text, t.Object = strings.TrimSpace("list of "+inner.Text), inner.Object
	case kind == "number":
		t.Text = "decimal"
	case kind == "string":
		t.Text = format(schema.get("format").text)
	case kind == "":
		t.Text = "any"
	default:
		t.Text = kind
	}
	return t
}

// format names the type of a string.
func format(f string) string {
	switch f {
	case "uuid":
		return "UUID"
	case "date-time":
		return "time"
	case "email":
		return "email address"
	case "uri":
		return "URL"
	case "":
		return "string"
	default:
		return f
	}
}

// limits lists what a value may be.
func (d *renderer) limits(schema node) []string {
	var list []string
	if values := schema.get("enum"); values.exists() {
		list = append(list, "one of "+strings.Join(values.strings(), ", "))
	}
	if value := schema.get("const"); value.exists() {
		list = append(list, "always "+value.text)
	}
	list = append(list, d.span(schema, "minLength", "maxLength", "characters")...)
	list = append(list, d.span(schema, "minItems", "maxItems", "elements")...)
	above := schema.get("exclusiveMinimum").text
	switch most := schema.get("maximum").text; {
	case above != "" && most != "":
		list = append(list, "greater than "+above+", at most "+most)
	case above != "":
		list = append(list, "greater than "+above)
	default:
		list = append(list, d.span(schema, "minimum", "maximum", "")...)
	}
	if value := schema.get("default"); value.exists() {
		list = append(list, "default "+asJSON("", value))
	}
	items, _ := d.resolve(schema.get("items"))
	if items.exists() && items.kind == jsontext.KindBeginObject && !items.get("properties").exists() {
		for _, limit := range d.limits(items) {
			list = append(list, "each "+limit)
		}
	}
	return list
}

// span describes a lower and an upper limit. A lower limit of 0 says nothing.
func (*renderer) span(schema node, least, most, unit string) []string {
	from, to := schema.get(least).text, schema.get(most).text
	if to == "" && from == "1" || to == "1" {
		unit = strings.TrimSuffix(unit, "s")
	}
	if unit != "" {
		unit = " " + unit
	}
	switch {
	case from == to && from != "":
		return []string{"exactly " + from + unit}
	case from != "" && to != "":
		return []string{from + " to " + to + unit}
	case to != "":
		return []string{"at most " + to + unit}
	case from != "" && from != "0":
		return []string{"at least " + from + unit}
	default:
		return nil
	}
}
