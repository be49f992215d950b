package test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pkg is a package's files without its tests.
type pkg struct {
	name  string // "internal/money"
	files map[string]*ast.File
}

// packages parses the production code.
func packages(t *testing.T) (*token.FileSet, []pkg) {
	t.Helper()
	set := token.NewFileSet()
	found := map[string]*pkg{}
	err := filepath.WalkDir("..", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), "../"))
		if found[name] == nil {
			found[name] = &pkg{name: name, files: map[string]*ast.File{}}
		}
		found[name].files[path] = file
		return nil
	})
	noError(t, err)
	var list []pkg
	for _, r := range found {
		list = append(list, *r)
	}
	if len(list) < 10 {
		t.Fatalf("only %d packages found", len(list))
	}
	return set, list
}

// ours are the project's packages that a file imports.
func ours(f *ast.File) []string {
	var list []string
	for _, i := range f.Imports {
		if name, found := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "stockrewards/"); found {
			list = append(list, name)
		}
	}
	return list
}

// Imports point one way; the packages around the domain hardly know each other.
func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	const money, domain, store = "internal/money", "internal/rewards", "internal/store"
	const paper = "internal/broker/paper"
	allowed := map[string][]string{
		money:                    {},
		domain:                   {money},
		"internal/catalog":       {money},
		"internal/api":           {money, domain, "internal/admission", "internal/reference"},
		"internal/reference":     {},
		"internal/admission":     {domain},
		"internal/page":          {money, domain},
		"internal/intake":        {domain},
		"internal/admin":         {money, domain},
		"internal/certificate":   {},
		"internal/config":        {money, domain},
		"internal/guard":         {},
		"internal/market":        {money, domain},
		"internal/fulfillment":   {money, domain},
		"internal/webhook":       {domain, "internal/dbfile"},
		"internal/broker/alpaca": {money, domain},
		"internal/dbfile":        {},
		paper + "/apierror":      {},
		paper + "/random":        {},
		paper + "/faults":        {money, paper + "/random"},
		paper + "/exchange":      {money, paper + "/random"},
		paper + "/books": {
			money, "internal/dbfile", paper + "/apierror", paper + "/exchange", paper + "/faults", paper + "/random",
		},
		paper + "/wire": {
			money, paper + "/apierror", paper + "/books", paper + "/exchange", paper + "/faults", paper + "/random",
		},
		paper: {
			money, paper + "/apierror", paper + "/books", paper + "/exchange", paper + "/faults", paper + "/random",
			paper + "/wire",
		},
		"internal/broker/brokertest":     {money, domain},
		store:                            {money, domain, "internal/store/segment"},
		"internal/store/segment":         {},
		"internal/store/postgres/pgtest": {},
		"internal/store/sqlite":          {domain, store, "internal/store/segment", "internal/dbfile"},
		"internal/store/postgres":        {domain, store, "internal/guard"},
		"internal/store/storetest":       {money, domain, store, "internal/store/segment"},
		"internal/copier":                {"internal/dbfile"},
		"internal/audit/value":           {money},
		"internal/audit/reader":          {"internal/dbfile"},
		"internal/audit":                 {"internal/audit/value", "internal/audit/reader"},
		"internal/audit/brokercheck":     {money, "internal/audit/value", "internal/audit/reader"},
		"internal/audit/audittest":       {money, domain, store, "internal/audit/reader", "internal/store/sqlite", "internal/store/postgres", "internal/store/postgres/pgtest"},
		"internal/ledger":                {money, domain},
		"bench":                          {"bench/growth", "internal/store/postgres/pgtest"},
		"bench/growth": {
			money, domain, store, "internal/catalog", "internal/store/postgres", "internal/store/sqlite",
		},
		"bench/grow":      {"bench/growth"},
		"test/world":      {domain, store, "internal/store/postgres/pgtest", "internal/store/sqlite", "internal/broker/alpaca"},
		"client":          {}, // for programs of others
		"tools/release":   {}, // a separate module
		"test/clients/go": {}, // a separate module: a client's program
	}
	_, list := packages(t)
	for _, r := range list {
		if r.name == "cmd/stockrewards" || r.name == "internal/server" { // they wire every package
			continue
		}
		allow, known := allowed[r.name]
		if !known {
			t.Errorf("%s: a package without a rule", r.name)
		}
		for path, file := range r.files {
			for _, imported := range ours(file) {
				if !slices.Contains(allow, imported) {
					t.Errorf("%s imports %s", path, imported)
				}
			}
		}
	}
}

// Small files, short functions, no hidden starts.
func TestBudgets(t *testing.T) {
	t.Parallel()
	const maxFile, maxFunction = 400, 70
	set, list := packages(t)
	var files, functions []int
	for _, r := range list {
		for path, file := range r.files {
			lines := set.File(file.Pos()).LineCount()
			files = append(files, lines)
			if lines > maxFile {
				t.Errorf("%s has %d lines", path, lines)
			}
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				length := set.Position(f.End()).Line - set.Position(f.Pos()).Line + 1
				functions = append(functions, length)
				if length > maxFunction || f.Name.Name == "init" {
					t.Errorf("%s: %s has %d lines", path, f.Name.Name, length)
				}
			}
		}
	}
	slices.Sort(files)
	slices.Sort(functions)
	if m := files[len(files)/2]; m > 120 {
		t.Errorf("the median file has %d lines", m)
	}
	if m := functions[len(functions)/2]; m > 12 {
		t.Errorf("the median function has %d lines", m)
	}
}
