package storetest

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"stockrewards/internal/store"
)

// Statement is an SQL statement of the store, with the arguments of its first run.
type Statement struct {
	Query string
	Args  []any
}

// Recorder records the statements that stores run on its engines, so that tests can check
// their plans. It is safe for concurrent use.
type Recorder struct {
	mu   sync.Mutex
	seen map[string][]any
}

// On wraps an engine whose statements are recorded.
func (r *Recorder) On(e store.Engine) store.Engine { return recording{e, r} }

// Statements returns the recorded statements, sorted.
func (r *Recorder) Statements() []Statement {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []Statement
	for _, query := range slices.Sorted(maps.Keys(r.seen)) {
		list = append(list, Statement{query, r.seen[query]})
	}
	return list
}

func (r *Recorder) note(query string, args []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = make(map[string][]any)
	}
	if _, known := r.seen[query]; !known {
		r.seen[query] = slices.Clone(args)
	}
}

// tx wraps a transaction and keeps its support of columns.
func (r *Recorder) tx(tx store.Tx) store.Tx {
	if columns, ok := tx.(store.ColumnTx); ok {
		return recordedColumns{recorded{tx, r}, columns}
	}
	return recorded{tx, r}
}

type recording struct {
	store.Engine
	r *Recorder
}

func (e recording) Read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Engine.Read(ctx, func(ctx context.Context, tx store.Tx) error { return f(ctx, e.r.tx(tx)) })
}

func (e recording) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Engine.Write(ctx, func(ctx context.Context, tx store.Tx) error { return f(ctx, e.r.tx(tx)) })
}

func (e recording) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Engine.WriteForClients(ctx, func(ctx context.Context, tx store.Tx) error { return f(ctx, e.r.tx(tx)) })
}

func (e recording) WriteBooks(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Engine.WriteBooks(ctx, func(ctx context.Context, tx store.Tx) error { return f(ctx, e.r.tx(tx)) })
}

type recorded struct {
	store.Tx
	r *Recorder
}

func (x recorded) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	x.r.note(query, args)
	return x.Tx.Exec(ctx, query, args...)
}

func (x recorded) ExecEach(ctx context.Context, query string, rows [][]any) (int64, error) {
	if len(rows) > 0 {
		x.r.note(query, rows[0])
	}
	return x.Tx.ExecEach(ctx, query, rows)
}

func (x recorded) Query(ctx context.Context, each func(store.Row) error, query string, args ...any) error {
	x.r.note(query, args)
	return x.Tx.Query(ctx, each, query, args...)
}

type recordedColumns struct {
	recorded
	columns store.ColumnTx
}

func (x recordedColumns) AcceptsColumns() { x.columns.AcceptsColumns() }

// CheckAllRun fails if the source of package store, in a folder, has SQL that the contract
// did not run. It checks statements of whole columns (unnest) and LATERAL on an engine that accepts
// columns, and all others on an engine that does not. It skips the files in except.
func CheckAllRun(t *testing.T, folder string, statements []Statement, columns bool, except ...string) {
	t.Helper()
	var all strings.Builder
	for _, s := range statements {
		all.WriteString(s.Query + "\n")
	}
	sql := regexp.MustCompile(`\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|FROM|WHERE|ORDER BY|LIMIT|AND)\b`)
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	check(t, err)
	pieces := 0
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") || slices.Contains(except, filepath.Base(path)) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		check(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if sum, ok := n.(*ast.BinaryExpr); ok && !columns && mentionsColumns(sum) {
				return false
			}
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			piece, err := strconv.Unquote(literal.Value)
			check(t, err)
			if !sql.MatchString(piece) || forColumns(piece) != columns {
				return true
			}
			pieces++
			if !strings.Contains(all.String(), piece) {
				t.Errorf("%s: the contract does not run %q", path, piece)
			}
			return true
		})
	}
	if pieces == 0 {
		t.Errorf("no SQL was found in %s", folder)
	}
}

// forColumns reports whether SQL is only for engines that accept columns.
func forColumns(sql string) bool {
	return strings.Contains(sql, "unnest(") || strings.Contains(sql, "LATERAL")
}

// mentionsColumns reports whether a concatenation is a statement for engines that accept columns.
func mentionsColumns(sum *ast.BinaryExpr) (found bool) {
	ast.Inspect(sum, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		found = found || ok && forColumns(literal.Value)
		return true
	})
	return found
}
