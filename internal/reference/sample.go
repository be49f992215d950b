package reference

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// sample is a piece of code in one language.
type sample struct{ Language, Code string }

// languages are those of the samples, in the page's order.
func languages() []struct{ ID, Name string } {
	return []struct{ ID, Name string }{{"sh", "curl"}, {"ts", "TypeScript"}, {"go", "Go"}, {"python", "Python"}}
}

// exchange is what a sample sends.
type exchange struct {
	method, path string
	template     string      // the path with its parameters' names
	parameters   [][2]string // of the path: name and example
	body         node
}

// samples writes an operation's request in every language.
func (d *renderer) samples(e exchange) []sample {
	return []sample{
		{"sh", curl(e)}, {"ts", d.typescript(e)}, {"go", goCode(e)}, {"python", python(e)},
	}
}

func curl(e exchange) string {
	lines := []string{`curl -sS --fail-with-body "$API_URL` + e.path + `" -H "x-api-key: $API_KEY"`}
	if e.method != "GET" && (e.method != "POST" || !e.body.exists()) {
		lines[0] = `curl -sS --fail-with-body -X ` + e.method + ` "$API_URL` + e.path + `" -H "x-api-key: $API_KEY"`
	}
	if e.body.exists() {
		lines = append(lines, `-H 'content-type: application/json'`,
			`-d '`+strings.ReplaceAll(e.body.json(), "'", `'\''`)+`'`)
	}
	return strings.Join(lines, " \\\n  ")
}

// typescript passes decimals as strings, as the client does.
func (d *renderer) typescript(e exchange) string {
	form := syntax{
		name: func(name string) string {
			if strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz") == "" {
				return name
			}
			return quoted(name)
		},
		literal: func(name string, n node) string {
			if n.kind == jsontext.KindNumber && d.decimals[name] {
				return quoted(n.text)
			}
			return asJSON(name, n)
		},
	}
	object := func(names ...[2]string) node {
		n := node{kind: jsontext.KindBeginObject}
		for _, pair := range names {
			n.names = append(n.names, pair[0])
			n.items = append(n.items, node{kind: jsontext.KindString, text: pair[1]})
		}
		return n
	}
	options := node{kind: jsontext.KindBeginObject}
	path, query, _ := strings.Cut(e.path, "?")
	in := node{kind: jsontext.KindBeginObject}
	if len(e.parameters) > 0 {
		in.names, in.items = append(in.names, "path"), append(in.items, object(e.parameters...))
		path = e.template
	}
	if query != "" {
		var pairs [][2]string
		for part := range strings.SplitSeq(query, "&") {
			name, value, _ := strings.Cut(part, "=")
			pairs = append(pairs, [2]string{name, value})
		}
		in.names, in.items = append(in.names, "query"), append(in.items, object(pairs...))
	}
	if len(in.names) > 0 {
		options.names, options.items = append(options.names, "params"), append(options.items, in)
	}
	if e.body.exists() {
		options.names, options.items = append(options.names, "body"), append(options.items, e.body)
	}
	arguments := quoted(path)
	if len(options.names) > 0 {
		arguments += ", " + form.write(options, "", "")
	}
	return "const { data } = await rewards." + e.method + "(" + arguments + ");\nconsole.log(data);"
}

func goCode(e exchange) string {
	body := "nil"
	if e.body.exists() {
		body = "json.RawMessage(`" + e.body.json() + "`)"
	}
	return "var answer json.RawMessage\nerr := rewards.Do(ctx, " + quoted(e.method) + ", " + quoted(e.path) + ", " +
		body + ", &answer)\nif err != nil {\n\treturn err\n}\nfmt.Println(string(answer))"
}

func python(e exchange) string {
	form := syntax{name: quoted, literal: func(name string, n node) string {
		switch n.kind {
		case jsontext.KindNull:
			return "None"
		case jsontext.KindTrue:
			return "True"
		case jsontext.KindFalse:
			return "False"
		default:
			return asJSON(name, n)
		}
	}}
	body := ""
	if e.body.exists() {
		body = ", " + form.write(e.body, "", "")
	}
	return "print(call(" + quoted(e.method) + ", " + quoted(e.path) + body + "))"
}
