package reference

import (
	"embed"
	"fmt"
	"html/template"
	"regexp"
	"strings"
)

//go:embed guides/*.md
var guideFiles embed.FS

// guide shows how to do a task. Its file begins with a title, `# Title`. A comment
// `<!-- needs OPERATION -->` hides a guide from a document without that operation.
type guide struct {
	ID, Title string
	Parts     []part
}

// part is a passage of prose and the samples that follow it.
type part struct {
	Text    template.HTML
	Samples []sample
}

var (
	codeBlock = regexp.MustCompile("(?s)```(\\w+)\n(.*?)\n```\n?")
	needs     = regexp.MustCompile(`<!-- needs (\w+) -->\n`)
	titleLine = regexp.MustCompile(`^# (.+)\n`)
)

func (d *renderer) guides() ([]guide, error) {
	files, err := guideFiles.ReadDir("guides")
	if err != nil {
		return nil, err
	}
	operations := map[string]bool{}
	for _, id := range d.links {
		operations[id] = true
	}
	var list []guide
	for _, f := range files { // sorted by name
		text, err := guideFiles.ReadFile("guides/" + f.Name())
		if err != nil {
			return nil, err
		}
		g, shown, err := d.guide(f.Name(), string(text), operations)
		if err != nil {
			return nil, err
		}
		if shown {
			list = append(list, g)
		}
	}
	return list, nil
}

func (d *renderer) guide(name, text string, operations map[string]bool) (g guide, shown bool, err error) {
	if m := needs.FindStringSubmatch(text); m != nil {
		if !operations[m[1]] {
			return g, false, nil
		}
		text = strings.Replace(text, m[0], "", 1)
	}
	title := titleLine.FindStringSubmatch(text)
	if title == nil {
		return g, false, fmt.Errorf("the guide %s has no title", name)
	}
	_, id, _ := strings.Cut(strings.TrimSuffix(name, ".md"), "-")
	g = guide{ID: "guide-" + id, Title: title[1]}
	text = text[len(title[0]):]
	for text != "" {
		at := codeBlock.FindStringSubmatchIndex(text)
		prose := text
		if at != nil {
			prose = text[:at[0]]
		}
		if strings.TrimSpace(prose) != "" || len(g.Parts) == 0 {
			g.Parts = append(g.Parts, part{Text: d.blocks(prose)})
		}
		if at == nil {
			break
		}
		last := &g.Parts[len(g.Parts)-1]
		last.Samples = append(last.Samples, sample{Language: text[at[2]:at[3]], Code: text[at[4]:at[5]]})
		text = text[at[1]:]
	}
	return g, true, nil
}
