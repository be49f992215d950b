package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// banned are the words that the project's language avoids, with what to write in their place.
var banned = []struct {
	words   *regexp.Regexp
	instead string
}{
	{phrase(`tell|tells|told|telling`), "report, show, return, log, say"},
	{phrase(`anew`), "again"},
	{phrase(`in vain`), "without effect, or say what failed"},
	{phrase(`befall|befalls|befell`), "affect, hit"},
	{phrase(`as good`), "say what is true of it"},
	{phrase(`of ours`), "our"},
	{phrase(`mend|mends|mended|mending`), "fix, repair, correct"},
	{phrase(`bears|borne`), "say what it does"},
	{phrase(`dear|dearer`), "expensive, costly"},
	{phrase(`stands`), "is, means"},
	{phrase(`not that many|so many|so much`), "the number"},
	{phrase(`a text|texts`), "a string, a message"},
	{phrase(`is none|are none|was none|were none|of none`), "there is no"},
	{phrase(`(?:came|come|comes) to nothing`), "failed, had no effect"},
	{phrase(`makes? way|makeway`), "say what moves"},
	{phrase(`(?:whatever|whoever) became`), "regardless of"},
	{phrase(`of its own`), "own, separate"},
	{phrase(`(?:is|are) to be`), "must be"},
}

// bannedNames are words that no identifier and no file name has as a part.
var bannedNames = regexp.MustCompile(`^(tell|tells|told|telling|anew|befalls?|mend|mends|mended|dear|borne)$`)

// anyBanned finds one of them. Nearly all code has none, and to look for each takes ten times as long.
var anyBanned = func() *regexp.Regexp {
	var all []string
	for _, b := range banned {
		all = append(all, b.words.String())
	}
	return regexp.MustCompile(strings.Join(all, "|"))
}()

func phrase(words string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(?:` + words + `)\b`) }

// finding is a place that breaks a rule.
type finding struct{ at, what string }

// TestWords finds banned words in comments, strings, names, documents and planted bugs.
// Quoted text and code in documents are quotations.
func TestWords(t *testing.T) {
	t.Parallel()
	var found []finding
	walk(t, func(path string) {
		switch {
		case filepath.Base(path) == "style_test.go":
		case strings.HasSuffix(path, ".go"):
			found = append(found, wordsOfGo(t, path)...)
		case strings.HasSuffix(path, ".md"):
			found = append(found, search(path, 1, prose(read(t, path)))...)
		case strings.HasSuffix(path, ".json") && strings.HasPrefix(path, "internal/api/"):
			found = append(found, search(path, 1, read(t, path))...)
		case strings.HasSuffix(path, ".txt") && strings.HasPrefix(path, "test/mutants/"):
			code := regexp.MustCompile(`(?m)^[-+ ].*$`)
			found = append(found, search(path, 1, code.ReplaceAllString(read(t, path), ""))...)
		}
	})
	report(t, found)
}

// goodEnglish is where a banned word is right: "X stands for Y".
var goodEnglish = regexp.MustCompile(`(?i)\bstands (?:in )?for\b`)

// search returns the banned words of a text whose first line is line.
func search(path string, line int, text string) []finding {
	text = goodEnglish.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("_", len(s)) })
	var found []finding
	if !anyBanned.MatchString(text) {
		return nil
	}
	for _, b := range banned {
		for _, at := range b.words.FindAllStringIndex(text, -1) {
			n := line + strings.Count(text[:at[0]], "\n")
			found = append(found, finding{
				path + ":" + strconv.Itoa(n), strconv.Quote(text[at[0]:at[1]]) + ": write " + b.instead,
			})
		}
	}
	return found
}

// quoted is what a comment or a document quotes.
var quoted = regexp.MustCompile("\"[^\"\n]*\"|`[^`\n]*`|“[^”\n]*”")

// wordsOfGo returns the banned words of comments, strings and names of a Go file.
func wordsOfGo(t *testing.T, path string) []finding {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, filepath.Join("..", path), nil, parser.ParseComments)
	noError(t, err)
	var found []finding
	for _, group := range file.Comments {
		for _, c := range group.List {
			found = append(found, search(path, set.Position(c.Pos()).Line, quoted.ReplaceAllString(c.Text, `""`))...)
		}
	}
	seen := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				text, err := strconv.Unquote(n.Value)
				if err != nil {
					t.Errorf("%s: cannot unquote %s: %v", path, n.Value, err)
				}
				found = append(found, search(path, set.Position(n.Pos()).Line, text)...)
			}
		case *ast.Ident:
			if !seen[n.Name] && slices.ContainsFunc(parts(n.Name), bannedNames.MatchString) {
				at := path + ":" + strconv.Itoa(set.Position(n.Pos()).Line)
				found = append(found, finding{at, "the name " + n.Name})
			}
			seen[n.Name] = true
		}
		return true
	})
	name := strings.TrimSuffix(filepath.Base(path), ".go")
	if slices.ContainsFunc(strings.Split(name, "_"), bannedNames.MatchString) {
		found = append(found, finding{path, "the file's name"})
	}
	return found
}

// partOfName is a word of a name in camel case.
var partOfName = regexp.MustCompile(`[A-Z]*[a-z0-9]*`)

// parts splits a name in camel case into words of lower case.
func parts(name string) []string {
	words := partOfName.FindAllString(name, -1)
	for i := range words {
		words[i] = strings.ToLower(words[i])
	}
	return words
}

// TestComments checks that a doc comment of a function or a type begins with its name. The
// linter revive checks the rest of the exported names.
func TestComments(t *testing.T) {
	t.Parallel()
	set, list := packages(t)
	var found []finding
	for _, r := range list {
		for path, file := range r.files {
			for _, d := range file.Decls {
				var name string
				var doc *ast.CommentGroup
				switch d := d.(type) {
				case *ast.FuncDecl:
					name, doc = d.Name.Name, d.Doc
				case *ast.GenDecl:
					if spec, ok := d.Specs[0].(*ast.TypeSpec); ok && len(d.Specs) == 1 {
						name, doc = spec.Name.Name, d.Doc
					}
				}
				if doc == nil || name == "main" {
					continue
				}
				words := strings.Fields(doc.Text())
				if len(words) > 1 && slices.Contains([]string{"A", "An", "The"}, words[0]) {
					words = words[1:]
				}
				if len(words) == 0 || strings.TrimRight(words[0], ",:.") != name {
					at := strings.TrimPrefix(path, "../") + ":" + strconv.Itoa(set.Position(d.Pos()).Line)
					found = append(found, finding{at, "the comment does not begin with " + name})
				}
			}
		}
	}
	report(t, found)
}

// errorBegins is how the message of an error must not begin: with a pronoun, with a verb
// without "cannot", or in the middle of a sentence. It begins with "cannot", with the field or
// the thing that it is about, or with another error.
var errorBegins = regexp.MustCompile(`(?i)^(?:it|its|they|these|there|nothing|none|of|with|that|what|who|when|we|our|` +
	`you|failed|failure|unable|could|couldn't|error|find|make|create|read|write|open|close|parse|load|send|start|stop) `)

// TestErrors checks how messages of errors begin.
func TestErrors(t *testing.T) {
	t.Parallel()
	set, list := packages(t)
	makers := []string{"errors.New", "fmt.Errorf", "usageErrorf"}
	var found []finding
	for _, r := range list {
		for path, file := range r.files {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) == 0 || !slices.Contains(makers, callee(call)) {
					return true
				}
				arg := call.Args[0]
				for {
					sum, isSum := arg.(*ast.BinaryExpr)
					if !isSum {
						break
					}
					arg = sum.X
				}
				if lit, isLit := arg.(*ast.BasicLit); isLit && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err != nil || errorBegins.MatchString(text) {
						at := strings.TrimPrefix(path, "../") + ":" + strconv.Itoa(set.Position(lit.Pos()).Line)
						found = append(found, finding{at, "the error " + lit.Value})
					}
				}
				return true
			})
		}
	}
	report(t, found)
}

// callee is the name of the function that is called, with its package.
func callee(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if pkg, ok := f.X.(*ast.Ident); ok {
			return pkg.Name + "." + f.Sel.Name
		}
	}
	return ""
}

// TestSentences checks that a sentence of a document has at most 30 words. Code and tables do
// not count, and quoted code counts as a word.
func TestSentences(t *testing.T) {
	t.Parallel()
	const most = 30
	end := regexp.MustCompile(`[.!?:;](?:[")*_]+)?(?:\s+|$)`)
	var found []finding
	walk(t, func(path string) {
		if !strings.HasSuffix(path, ".md") {
			return
		}
		for line, block := range blocks(read(t, path)) {
			for _, sentence := range end.Split(block, -1) {
				if n := len(strings.Fields(sentence)); n > most {
					at := path + ":" + strconv.Itoa(line)
					found = append(found, finding{at, strconv.Itoa(n) + " words: " + sentence})
				}
			}
		}
	})
	report(t, found)
}

var (
	fenced  = regexp.MustCompile("(?s)\n *```.*?\n *```")
	comment = regexp.MustCompile(`(?s)<!--.*?-->`)
	link    = regexp.MustCompile(`\]\([^)]*\)`)
)

// prose is a document without code, comments, links' targets and quotations; its lines stay.
func prose(text string) string {
	blank := func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) }
	text = fenced.ReplaceAllStringFunc(text, blank)
	text = comment.ReplaceAllStringFunc(text, blank)
	return quoted.ReplaceAllString(link.ReplaceAllString(text, "]"), "x")
}

// blocks yields the paragraphs and the items of lists of a document by the number of their line.
func blocks(text string) map[int]string {
	item := regexp.MustCompile(`^\s*(?:[-*]|\d+\.) `)
	found, start := map[int]string{}, 0
	for i, line := range strings.Split(prose(text), "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, "|"):
			start = 0
		case start == 0 || item.MatchString(line):
			start = i + 1
			found[start] = item.ReplaceAllString(trimmed, "")
		default:
			found[start] += " " + trimmed
		}
	}
	return found
}

// report fails for each finding.
func report(t *testing.T, found []finding) {
	t.Helper()
	for _, f := range found {
		t.Errorf("%s: %s", f.at, f.what)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", path))
	noError(t, err)
	return string(text)
}

// walk visits the project's files by their path from its root.
func walk(t *testing.T, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "bin", "node_modules", "testdata"}, entry.Name()):
			return filepath.SkipDir
		case !entry.IsDir():
			visit(filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator))))
		}
		return nil
	})
	noError(t, err)
}
