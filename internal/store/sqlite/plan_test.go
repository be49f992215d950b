package sqlite_test

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"

	"stockrewards/internal/store"
	"stockrewards/internal/store/sqlite"
	"stockrewards/internal/store/storetest"
)

// planner is an engine that has every query of the contract suite explained.
type planner struct {
	store.Engine
	mu   *sync.Mutex
	seen map[string]string // query -> plan
}

func (p planner) Read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return p.Engine.Read(ctx, func(ctx context.Context, tx store.Tx) error { return f(ctx, planned{tx, p}) })
}

func (p planner) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return p.Engine.Write(ctx, func(ctx context.Context, tx store.Tx) error { return f(ctx, planned{tx, p}) })
}

func (p planner) Record(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return p.Write(ctx, f)
}

type planned struct {
	store.Tx
	p planner
}

func (x planned) ExecEach(ctx context.Context, query string, rows [][]any) (int64, error) {
	for _, args := range rows {
		if err := x.explain(ctx, query, args); err != nil {
			return 0, err
		}
	}
	return x.Tx.ExecEach(ctx, query, rows)
}

func (x planned) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if err := x.explain(ctx, query, args); err != nil {
		return 0, err
	}
	return x.Tx.Exec(ctx, query, args...)
}

func (x planned) Query(ctx context.Context, each func(store.Row) error, query string, args ...any) error {
	if err := x.explain(ctx, query, args); err != nil {
		return err
	}
	return x.Tx.Query(ctx, each, query, args...)
}

func (x planned) explain(ctx context.Context, query string, args []any) error {
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	if _, done := x.p.seen[query]; done {
		return nil
	}
	var steps []string
	err := x.Tx.Query(ctx, func(row store.Row) error {
		var id, parent, unused int
		var detail string
		err := row.Scan(&id, &parent, &unused, &detail)
		steps = append(steps, detail)
		return err
	}, `EXPLAIN QUERY PLAN `+query, args...)
	x.p.seen[query] = strings.Join(steps, "; ")
	return err
}

// No query of the service reads a whole table that grows, or sorts what an index
// has in order.
func TestNoQueryScansATable(t *testing.T) {
	t.Parallel()
	p := planner{mu: &sync.Mutex{}, seen: map[string]string{}}
	t.Run("contract", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Engine {
			t.Helper()
			e, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			})
			return planner{e, p.mu, p.seen}
		})
	})
	// Small tables; live orders are few and have an index of their own.
	small := regexp.MustCompile(`SCAN (settings|apps?|keys|a|assets|alarms|broker_conflicts|lease|waiting|w|p|newest|counted|CONSTANT ROW)\b`)
	for query, plan := range p.seen {
		for step := range strings.SplitSeq(plan, "; ") {
			grows := strings.HasPrefix(step, "SCAN ") && !small.MatchString(step) &&
				!strings.Contains(step, "orders_live") && (!strings.Contains(step, "rewards_waiting") || !strings.Contains(query, "LIMIT")) &&
				!strings.Contains(query, "ORDER BY id DESC LIMIT 1")
			sorts := strings.Contains(step, "TEMP B-TREE") && !strings.Contains(query, "assets") && !strings.Contains(query, "broker_conflicts")
			if grows || sorts {
				t.Errorf("%s\n\t%s", strings.Join(strings.Fields(query), " "), plan)
			}
		}
	}
	if len(p.seen) < 50 {
		t.Errorf("only %d queries were explained", len(p.seen))
	}
}
