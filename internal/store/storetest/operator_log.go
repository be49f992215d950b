package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// testOperatorLogIsKept: no row can be changed or deleted, and control characters for
// terminals are refused.
func testOperatorLogIsKept(t *testing.T, w *World) {
	for _, statement := range []string{
		`UPDATE operator_log SET reason = 'x'`, `UPDATE operator_log SET number = number + 100`,
		`DELETE FROM operator_log`, `DELETE FROM operator_log WHERE number = 1`,
	} {
		err := w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			_, err := tx.Exec(ctx, statement)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "the operator log is append-only") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	rows := len(w.log(t))
	for _, reason := range []string{"\x1b[2Jgone", "two\nlines", "\u202eback", "\xff", strings.Repeat("x", rewards.MaxReason+1)} {
		by := rewards.Operator{Actor: "ann@db1", Command: "app suspend", Reason: reason}
		wantCode(t, failure(w.As(by).SetSuspended(t.Context(), "first", true)), rewards.CodeBadRequest)
		wantCode(t, w.SetPaused(t.Context(), reason), rewards.CodeBadRequest)
	}
	if _, err := w.As(rewards.Operator{}).SetSuspended(t.Context(), "first", true); err == nil {
		t.Error("a deed without an operator was done")
	}
	w.wantChain(t, rows)
	object := w.App.Object()
	check(t, w.RevokeKey(t.Context(), w.firstKey(t)))
	list, err := w.LogEntries(t.Context(), store.LogFilter{Object: object, Limit: 10})
	check(t, err)
	if len(list) != 1 || list[0].Object != object {
		t.Errorf("the deeds of %s are %+v", object, list)
	}
	if list, err = w.LogEntries(t.Context(), store.LogFilter{Limit: 1}); err != nil || len(list) != 1 || list[0].Number != int64(rows+1) {
		t.Errorf("the newest deed is %+v, %v", list, err)
	}
}

func (w *World) firstKey(t *testing.T) rewards.KeyID {
	t.Helper()
	keys, err := w.Keys(t.Context(), "first")
	check(t, err)
	return keys[0].ID
}

// testOperatorLogBegins: a store that is older than the log begins it, once, with all
// decisions so far.
func testOperatorLogBegins(t *testing.T, w *World) {
	old := rewards.AppID{1, 6: 0x70, 8: 0x80}
	key := rewards.KeyID{1, 6: 0x70, 8: 0x80}
	hash := rewards.HashKey("old")
	rows := len(w.log(t))
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		for query, args := range map[string][]any{
			`INSERT INTO apps (id, name, suspended) VALUES (?1, 'old', 1)`: {old[:]},
			`UPDATE assets SET enabled = 0 WHERE symbol = 'KO'`:            nil,
			`DELETE FROM settings WHERE name = 'log_head'`:                 nil,
			`INSERT INTO settings (name, value) VALUES ('paused', 'then')`: nil,
		} {
			if _, err := tx.Exec(ctx, query, args...); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `INSERT INTO keys (app_id, id, hash, label, hint, revoked_at) VALUES (?1, ?2, ?3, '', '', 5)`,
			old[:], key[:], hash[:])
		return err
	}))
	var changes []rewards.Change
	engine := watchedLog{w.engine, int64(rows), &changes}
	for range 2 {
		check(t, failure(store.New(t.Context(), engine, w.Now, zeros{})))
	}
	var got []string
	for _, c := range changes {
		got = append(got, c.Object+" "+c.After.Value("suspended")+c.After.Value("revoked")+c.After.Value("enabled")+c.After.Value("paused"))
	}
	assets := read(t, w.Assets)
	want := []string{
		"app " + old.String() + " yes", w.App.Object() + " no", "key " + key.String() + " 1970-01-01T00:00:00.000005Z",
		"key " + w.firstKey(t).String() + " ", assets[1].Object() + " no", "ordering then",
	}
	wantEqual(t, "the log begins with", want, got)
	w.reopen(t)
	grace := w.recordedOlder(t)
	w.Advance(25 * time.Hour)
	if before, after := grace, w.recordedOlder(t); after || before != w.fleet(t) {
		t.Errorf("older fingerprints: %v, a day later %v; in a fleet: %v", before, after, w.fleet(t))
	}
}

// recordedOlder reports whether a request gets the fingerprint of older programs.
func (w *World) recordedOlder(t *testing.T) bool {
	t.Helper()
	w.Advance(2 * time.Millisecond)
	r := w.Request(t, 1_000_000)
	return string(w.fingerprint(t, r.AppID, w.record(t, r).ID)) != string(r.Fingerprint.Stored())
}

// fleet reports whether several processes may share the engine.
func (w *World) fleet(t *testing.T) (fleet bool) {
	t.Helper()
	check(t, w.engine.Read(t.Context(), func(_ context.Context, tx store.Tx) error {
		_, fleet = tx.(store.ColumnTx)
		return nil
	}))
	return fleet
}

// watchedLog is an engine whose log seems empty: it collects the new rows and numbers
// them after the existing ones.
type watchedLog struct {
	store.Engine
	rows    int64
	changes *[]rewards.Change
}

// Write implements store.Engine.
func (e watchedLog) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Engine.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if columns, ok := tx.(store.ColumnTx); ok {
			return f(ctx, watchedColumns{watchedTx{tx, e}, columns})
		}
		return f(ctx, watchedTx{tx, e})
	})
}

// WriteBooks implements store.Engine.
func (e watchedLog) WriteBooks(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Write(ctx, f)
}

type watchedColumns struct {
	watchedTx
	columns store.ColumnTx
}

// AcceptsColumns implements store.ColumnTx.
func (x watchedColumns) AcceptsColumns() { x.columns.AcceptsColumns() }

type watchedTx struct {
	store.Tx
	e watchedLog
}

// Exec implements store.Tx.
func (x watchedTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if !strings.Contains(query, "INTO operator_log") {
		return x.Tx.Exec(ctx, query, args...)
	}
	const number, object, after = 0, 4, 6
	state, err := rewards.ParseState(args[after].(string)) //nolint:forcetypeassert // the store's own
	if err != nil {
		return 0, err
	}
	if args[number] == int64(1) { // the transaction is retried
		*x.e.changes = nil
	}
	*x.e.changes = append(*x.e.changes, rewards.Change{Object: args[object].(string), After: state}) //nolint:forcetypeassert // the same
	args[number] = args[number].(int64) + x.e.rows                                                   //nolint:forcetypeassert // the same
	return x.Tx.Exec(ctx, query, args...)
}

// testOperatorsAtOnce: the deeds of concurrent operators form one chain, each once.
func testOperatorsAtOnce(t *testing.T, w *World) {
	const operators, deeds = 4, 10
	before := len(w.log(t))
	var running sync.WaitGroup
	for n := range operators {
		running.Go(func() {
			for i := range deeds {
				if err := w.SetPaused(t.Context(), fmt.Sprint("operator ", n, ", reason ", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	w.wantChain(t, before+operators*deeds)
}
