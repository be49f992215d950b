package reference

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
)

// renderer walks an OpenAPI document.
type renderer struct {
	root     node
	writer   goldmark.Markdown
	used     map[string]bool   // objects that members refer to
	decimals map[string]bool   // names of the members that are decimals
	links    map[string]string // "GET /v1/users" to the operation's id
}

// newView renders everything of a document but the templates.
func newView(document []byte) (*view, error) {
	root, err := parse(document)
	if err != nil {
		return nil, fmt.Errorf("cannot read the API document: %w", err)
	}
	d := &renderer{
		root: root, used: map[string]bool{}, decimals: map[string]bool{}, links: map[string]string{},
		writer: goldmark.New(goldmark.WithExtensions(extension.Table),
			goldmark.WithParserOptions(parser.WithAutoHeadingID())),
	}
	d.findDecimals(root)
	d.findLinks()
	templates, err := template.New("").Parse(pageHTML)
	if err != nil {
		return nil, err
	}
	info := root.get("info")
	v := &view{
		Title: info.get("title").text, Summary: info.get("summary").text, Version: info.get("version").text,
		Intro: d.blocks(info.get("description").text), Languages: languages(), templates: templates,
	}
	for _, m := range topic.FindAllStringSubmatch(string(v.Intro), -1) {
		v.Topics = append(v.Topics, struct{ ID, Name string }{m[1], m[2]})
	}
	v.Groups = d.groups()
	v.Refusals = d.refusals()
	v.Objects = d.objects()
	v.Guides, err = d.guides()
	return v, err
}

// findDecimals finds the names of the members whose format is double.
func (d *renderer) findDecimals(n node) {
	properties := n.get("properties")
	for i, name := range properties.names {
		if properties.items[i].get("format").text == "double" {
			d.decimals[name] = true
		}
	}
	for _, item := range n.items {
		d.findDecimals(item)
	}
}

func (d *renderer) findLinks() {
	d.eachOperation(func(path, method string, op node) {
		d.links[method+" "+path] = op.get("operationId").text
	})
}

// eachOperation visits every operation in the document's order.
func (d *renderer) eachOperation(visit func(path, method string, op node)) {
	methods := []string{"get", "put", "post", "delete", "patch"}
	paths := d.root.get("paths")
	for i, path := range paths.names {
		for j, method := range paths.items[i].names {
			if slices.Contains(methods, method) {
				visit(path, strings.ToUpper(method), paths.items[i].items[j])
			}
		}
	}
}

var (
	topic           = regexp.MustCompile(`<h2 id="([^"]+)">([^<]+)</h2>`)
	operationInCode = regexp.MustCompile(`<code>((?:GET|PUT|POST|DELETE|PATCH) /[^<?]*)(\?[^<]*)?</code>`)
	paragraph       = regexp.MustCompile(`(?s)^<p>((?:[^<]|<[^/]|</[^p])*)</p>\n$`)
)

// blocks renders Markdown. An operation that it names is a link.
func (d *renderer) blocks(text string) template.HTML {
	var out bytes.Buffer
	if err := d.writer.Convert([]byte(text), &out); err != nil {
		return template.HTML(html.EscapeString(text)) //nolint:gosec // escaped
	}
	made := operationInCode.ReplaceAllStringFunc(out.String(), func(code string) string {
		m := operationInCode.FindStringSubmatch(code)
		if id := d.links[html.UnescapeString(m[1])]; id != "" {
			return `<a href="#` + id + `">` + code + `</a>`
		}
		return code
	})
	made = strings.NewReplacer(
		"<table>", `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>`,
		"</table>", "</table></div>").Replace(made)
	return template.HTML(made) //nolint:gosec // goldmark leaves out raw HTML, and the document is the program's own
}

// inline renders Markdown, for a cell of a table: one paragraph has no <p>.
func (d *renderer) inline(text string) template.HTML {
	made := d.blocks(text)
	if m := paragraph.FindStringSubmatch(string(made)); m != nil {
		return template.HTML(m[1]) //nolint:gosec // as blocks
	}
	return made
}

// groups lists the operations by tag, in the document's order.
func (d *renderer) groups() []group {
	var list []group
	for _, tag := range d.root.get("tags").items {
		name := tag.get("name").text
		list = append(list, group{
			ID: "tag-" + strings.ToLower(strings.ReplaceAll(name, " ", "-")), Name: name,
			Text: d.inline(tag.get("description").text),
		})
	}
	d.eachOperation(func(path, method string, op node) {
		tag := ""
		if tags := op.get("tags").items; len(tags) > 0 {
			tag = tags[0].text
		}
		at := slices.IndexFunc(list, func(g group) bool { return g.Name == tag })
		if at < 0 {
			list, at = append(list, group{ID: "tag-" + tag, Name: tag}), len(list)
		}
		list[at].Operations = append(list[at].Operations, d.operation(path, method, op))
	})
	return list
}

func (d *renderer) operation(path, method string, op node) *operation {
	o := &operation{
		ID: op.get("operationId").text, Method: method, Path: path, Summary: op.get("summary").text,
		Text: d.blocks(op.get("description").text),
		Open: op.get("security").exists() && len(op.get("security").items) == 0,
	}
	e := exchange{method: method, path: path, template: path}
	var query []string
	for _, p := range append(d.root.get("paths", path, "parameters").items, op.get("parameters").items...) {
		p, _ = d.resolve(p)
		m := d.member(p.get("schema"), p.get("name").text, p.get("required").kind == jsontext.KindTrue)[0]
		m.Where, m.Text = p.get("in").text, d.inline(p.get("description").text)
		o.Parameters = append(o.Parameters, m)
		switch example := p.get("example").text; {
		case m.Where == "path":
			e.path = strings.ReplaceAll(e.path, "{"+m.Name+"}", example)
			e.parameters = append(e.parameters, [2]string{m.Name, example})
		case m.Where == "query" && m.Required:
			query = append(query, m.Name+"="+example)
		}
	}
	if len(query) > 0 {
		e.path += "?" + strings.Join(query, "&")
	}
	if request, _ := d.resolve(op.get("requestBody")); request.exists() {
		content := request.get("content", "application/json")
		e.body = exampleOf(content)
		o.Members = d.members(content.get("schema"), "")
		o.Body = &body{Text: d.inline(request.get("description").text), example: e.body}
	}
	d.answers(o, op.get("responses"))
	o.Samples = d.samples(e)
	if o.Stream {
		o.Samples = []sample{{"sh", strings.Replace(curl(e), "curl ", "curl -N ", 1)}}
	}
	return o
}

// exampleOf is the first example of a content.
func exampleOf(content node) node {
	if one := content.get("example"); one.exists() {
		return one
	}
	if examples := content.get("examples").items; len(examples) > 0 {
		return examples[0].get("value")
	}
	return node{}
}

func (d *renderer) answers(o *operation, responses node) {
	for i, status := range responses.names {
		response, name := d.resolve(responses.items[i])
		a := answer{Status: status, Text: d.inline(response.get("description").text)}
		if status >= "400" {
			a.Name = name
			if name == "" {
				a.Example = exampleOf(response.get("content", "application/json")).json()
			}
			o.Refusals = append(o.Refusals, a)
			continue
		}
		for _, kind := range response.get("content").names {
			o.Stream = o.Stream || kind == "text/event-stream"
		}
		content := response.get("content", "application/json")
		if example := exampleOf(content); example.exists() && len(example.json()) < maxExample {
			a.Example = example.json()
		}
		a.Members = d.members(content.get("schema"), "")
		for _, header := range response.get("headers").names {
			if header != "x-request-id" {
				a.Headers = append(a.Headers, header)
			}
		}
		o.Answers = append(o.Answers, a)
	}
}

// maxExample limits a shown example, in bytes: the document's own is the whole of it.
const maxExample = 8 << 10

func (d *renderer) refusals() []refusal {
	var list []refusal
	responses := d.root.get("components", "responses")
	for i, name := range responses.names {
		response := responses.items[i]
		content := response.get("content", "application/json")
		list = append(list, refusal{
			Name: name, Text: d.inline(response.get("description").text),
			Members: d.members(content.get("schema"), ""), Example: exampleOf(content).json(),
		})
	}
	return list
}

// objects lists the objects that the members refer to, and those that they refer to.
func (d *renderer) objects() []object {
	schemas := d.root.get("components", "schemas")
	described := map[string]object{}
	for len(described) < len(d.used) {
		for i, name := range schemas.names {
			if _, done := described[name]; done || !d.used[name] {
				continue
			}
			described[name] = object{
				Name: name, Text: d.inline(schemas.items[i].get("description").text),
				Members: d.members(schemas.items[i], ""),
			}
		}
	}
	var list []object
	for _, name := range schemas.names {
		if o, found := described[name]; found {
			list = append(list, o)
		}
	}
	return list
}
