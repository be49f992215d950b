package main

import (
	"strings"
	"unicode"
)

// outputFlag chooses how a command prints what it lists or shows.
type outputFlag struct {
	JSON bool `name:"json" help:"Print JSON, with the columns or lines as members; amounts are strings."`
}

// listed prints items in columns under a heading, or as a JSON array. row returns the cells of an
// item.
func listed[T any](o outputFlag, heading string, items []T, row func(T) []string) error {
	if o.JSON {
		return printJSON(objects(heading, items, row))
	}
	return table(heading, items, row)
}

// object is a JSON object. Its members are strings, null, or lists of objects.
type object map[string]any

// objects returns items as objects with the columns of a heading as members.
func objects[T any](heading string, items []T, row func(T) []string) []object {
	columns := strings.Split(heading, "\t")
	list := make([]object, len(items))
	for i, item := range items {
		list[i] = make(object)
		for column, cell := range row(item) {
			list[i].set(columns[column], cell)
		}
	}
	return list
}

// objectOf returns lines of a label and a value as an object.
func objectOf(lines [][2]string) object {
	o := make(object)
	for _, line := range lines {
		o.set(line[0], line[1])
	}
	return o
}

// set sets a member by the label that people see; what is absent is null.
func (o object) set(label, value string) {
	if value == "" || value == "-" {
		o[memberName(label)] = nil
		return
	}
	o[memberName(label)] = value
}

// memberName turns a label such as "EX-DATE" or "broker's id" into a name such as exDate or brokerId.
func memberName(label string) string {
	label = strings.ReplaceAll(strings.ToLower(label), "'s", "")
	var b strings.Builder
	upper := false
	for _, r := range label {
		switch {
		case !unicode.IsLetter(r):
			upper = b.Len() > 0
		case upper:
			b.WriteRune(unicode.ToUpper(r))
			upper = false
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
