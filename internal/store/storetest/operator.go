package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// deed is a call of a method of store.Operator with the log entries that it writes.
type deed struct {
	method string
	do     func(ctx context.Context, o *store.Operator) error
	want   []string
}

// deeds calls every method that changes the store for an operator, and prepares the
// orders and conflicts for them.
func (w *World) deeds(t *testing.T) []deed {
	t.Helper()
	w.Give(t, 2_000_000)
	quarantined := w.Open(t)
	quarantined.State, quarantined.Reason = rewards.OrderQuarantined, "strange"
	check(t, w.SaveOrder(t.Context(), w.lease, rewards.OrderOpen, quarantined))
	asset := w.Give(t, 1_000_000).AssetID
	mistaken := w.record(t, func() rewards.NewReward {
		r := w.Request(t, 4_000_000)
		r.Symbol, r.AssetID = "KO", w.Asset(t, "KO").ID
		return r
	}()).ID
	check(t, w.DoubtAsset(t.Context(), asset, 7_000_000_000))
	lost := lostOrder("sr-x-lost")
	conflicts := []rewards.BrokerConflict{
		{ClientOrderID: lost.ClientOrderID, Symbol: "AAPL", FilledQty: lost.FilledQty, Detail: "unknown"},
		{ClientOrderID: "sr-x-1", Symbol: "AAPL", FilledQty: 5, Detail: "unknown"},
	}
	check(t, w.SaveReconciliation(t.Context(), w.lease, conflicts, w.Now()))
	keys, err := w.Keys(t.Context(), "first")
	check(t, err)
	key := keys[0].ID
	hours := w.Now().Add(time.Hour)
	ends := hours.UTC().Format(time.RFC3339Nano)
	return slices.Concat([]deed{
		{"AcknowledgeConflict", func(ctx context.Context, o *store.Operator) error {
			return o.AcknowledgeConflict(ctx, "sr-x-1", "looked at it")
		}, []string{"conflict sr-x-1: acknowledged: yes: looked at it"}},
		{"AdoptOrder", func(ctx context.Context, o *store.Operator) error {
			_, err := o.AdoptOrder(ctx, lost, "restored")
			return err
		}, []string{
			"order *: state: submitted, clientOrderId: sr-x-lost, notional: 3, filled: 0, price: 0: restored",
			"conflict sr-x-lost: acknowledged: yes: restored",
		}},
		{"ResolveOrder", func(ctx context.Context, o *store.Operator) error {
			return o.ResolveOrder(ctx, quarantined.ID, rewards.Resolution{Reason: "statement"})
		}, []string{"order " + quarantined.ID.String() + ": state: quarantined -> resolved: statement"}},
		{"ReverseReward", func(ctx context.Context, o *store.Operator) error {
			_, _, err := o.ReverseReward(ctx, mistaken, 0, "a mistake")
			return err
		}, []string{
			"reversal *: reward: " + mistaken.String() + ", amount: 4, status: completed: a mistake",
			"reward " + mistaken.String() + ": status: recorded -> failed, failure: canceled: a mistake: a mistake",
		}},
	}, w.stockDeeds(asset), w.actionDeeds(t, asset), w.accessDeeds(key, hours, ends), w.budgetDeeds(), w.webhookDeeds(t))
}

// accessDeeds are the deeds about users, apps, keys and the pause.
func (w *World) accessDeeds(key rewards.KeyID, expires time.Time, ends string) []deed {
	made := rewards.Key{Label: "ci", Hash: rewards.HashKey("another")}
	return []deed{
		{"EraseUser", func(ctx context.Context, o *store.Operator) error {
			_, err := o.EraseUser(ctx, w.Users[2].ID)
			return err
		}, []string{w.Users[2].Object() + ": erased: no -> yes: why"}},
		{"CreateApp", func(ctx context.Context, o *store.Operator) error {
			_, _, err := o.CreateApp(ctx, "shop", rewards.Key{Hash: rewards.HashKey("shop")})
			return err
		}, []string{"app *: name: shop, suspended: no: why", "key *: app: *: why"}},
		{"SetSuspended", func(ctx context.Context, o *store.Operator) error {
			_, err := o.SetSuspended(ctx, "first", true)
			return err
		}, []string{"app " + w.App.ID.String() + ": suspended: no -> yes: why"}},
		{"SetLimits", func(ctx context.Context, o *store.Operator) error {
			_, err := o.SetLimits(ctx, "first", func(rewards.Limits) rewards.Limits { return rewards.Limits{Concurrent: 9} })
			return err
		}, []string{"app " + w.App.ID.String() + ": concurrent: 9: why"}},
		{"CreateKey", func(ctx context.Context, o *store.Operator) error {
			_, err := o.CreateKey(ctx, "first", made)
			return err
		}, []string{"key *: app: *, label: ci: why"}},
		{"RotateKey", func(ctx context.Context, o *store.Operator) error {
			_, err := o.RotateKey(ctx, key, rewards.Key{Hash: rewards.HashKey("rotated")}, expires)
			return err
		}, []string{"key *: app: *: why", "key " + key.String() + ": expires: " + ends + ": why"}},
		{"RevokeKey", func(ctx context.Context, o *store.Operator) error {
			return o.RevokeKey(ctx, key)
		}, []string{"key " + key.String() + ": revoked: " + w.Now().Format(time.RFC3339Nano) + ": why"}},
		{"SetPaused", func(ctx context.Context, o *store.Operator) error {
			return o.SetPaused(ctx, "lunch")
		}, []string{"ordering: paused: lunch: lunch"}},
		{"SetPaused", func(ctx context.Context, o *store.Operator) error {
			return o.SetPaused(ctx, "")
		}, []string{"ordering: paused: lunch -> -: why"}},
	}
}

// stockDeeds are the deeds about the catalog.
func (w *World) stockDeeds(asset rewards.AssetID) []deed {
	ended := func(price string) []string {
		return []string{fmt.Sprintf("asset %d: doubt: 7 -> -, %s: 7: why", asset, price)}
	}
	doubt := func(ctx context.Context, o *store.Operator) error { return o.DoubtAsset(ctx, asset, 7_000_000_000) }
	return []deed{
		{"SetEnabled", func(ctx context.Context, o *store.Operator) error {
			return o.SetEnabled(ctx, "AAPL", false)
		}, []string{fmt.Sprintf("asset %d: enabled: yes -> no: why", asset)}},
		{"ConfirmAsset", func(ctx context.Context, o *store.Operator) error {
			_, err := o.ConfirmAsset(ctx, "AAPL")
			return err
		}, ended("accepted")},
		{"RejectAsset", func(ctx context.Context, o *store.Operator) error {
			if err := doubt(ctx, o); err != nil {
				return err
			}
			_, err := o.RejectAsset(ctx, "AAPL")
			return err
		}, ended("rejected")},
		{"SyncAssets", func(ctx context.Context, o *store.Operator) error {
			_, err := o.SyncAssets(ctx, func(ours []rewards.Asset) (rewards.AssetSync, error) {
				theirs := []rewards.BrokerAsset{{ID: "n", Symbol: "NEW", Active: true, Tradable: true, Fractionable: true}}
				return rewards.SyncAssets(ours, theirs, rewards.SyncFilter{Symbols: []string{"NEW"}}), nil
			})
			return err
		}, []string{"catalog: changes: 1, added: NEW: why"}},
	}
}

// testOperatorLog: every method of store.Operator writes its log entries. A call that
// changes nothing writes none, and a call that cannot log changes nothing.
func testOperatorLog(t *testing.T, w *World) {
	deeds := w.deeds(t)
	wantAllMethods(t, deeds)
	by := rewards.Operator{Actor: "ann@db1", Command: "a command", Reason: "why"}
	broken, err := store.New(t.Context(), unlogged{w.engine}, w.Now, zeros{})
	check(t, err)
	for _, d := range deeds {
		before := w.decided(t)
		newest := w.log(t)[0].Number
		if err := d.do(t.Context(), broken.As(by)); !errors.Is(err, errUnlogged) {
			t.Errorf("%s without a log entry: %v", d.method, err)
		}
		if diff := cmp.Diff(before, w.decided(t)); diff != "" && d.method != "RejectAsset" { // which first doubts the price
			t.Errorf("%s without a log entry changed (-before +after):\n%s", d.method, diff)
		}
		check(t, d.do(t.Context(), w.As(by)))
		var got []string
		for _, row := range w.log(t) {
			if row.Number > newest {
				got = append([]string{row.Object + ": " + row.Changed() + ": " + row.Reason}, got...)
				wantOf(t, row, by)
			}
		}
		if !slices.EqualFunc(got, d.want, alike) {
			t.Errorf("%s logged\n%s\nwant\n%s", d.method, strings.Join(got, "\n"), strings.Join(d.want, "\n"))
		}
	}
	rows := len(w.log(t))
	check(t, w.SetEnabled(t.Context(), "AAPL", false))
	check(t, w.SetPaused(t.Context(), ""))
	if again := len(w.log(t)); again != rows {
		t.Errorf("%d entries for calls without a change", again-rows)
	}
	w.wantChain(t, rows)
}

// wantOf checks the operator and the time of an entry.
func wantOf(t *testing.T, d rewards.LogEntry, by rewards.Operator) {
	t.Helper()
	if d.Actor != by.Actor || d.Command != by.Command || d.At.IsZero() {
		t.Errorf("the entry %+v is not by %+v", d, by)
	}
}

// alike compares an entry with a pattern, in which * matches one word.
func alike(got, pattern string) bool {
	g, p := strings.Fields(got), strings.Fields(pattern)
	return slices.EqualFunc(g, p, func(got, want string) bool {
		return got == want || strings.HasPrefix(want, "*") && got[len(got)-1:] == want[len(want)-1:] || want == "*"
	})
}

// wantAllMethods checks that the deeds call every method of store.Operator.
func wantAllMethods(t *testing.T, deeds []deed) {
	t.Helper()
	of, all := reflect.TypeFor[*store.Store](), reflect.TypeFor[*store.Operator]()
	elsewhere := []string{"By", "BeginCutover", "CompleteCutover", "AbandonCutover"} // only over SQLite, whose own test covers them
	for i := range all.NumMethod() {
		name := all.Method(i).Name
		if _, service := of.MethodByName(name); service || slices.Contains(elsewhere, name) {
			continue
		}
		if !slices.ContainsFunc(deeds, func(d deed) bool { return d.method == name }) {
			t.Errorf("store.Operator.%s is not tested: add it to the deeds", name)
		}
	}
}

// log reads the operator log, newest first.
func (w *World) log(t *testing.T) []rewards.LogEntry {
	t.Helper()
	list, err := w.LogEntries(t.Context(), store.LogFilter{Limit: 1000})
	check(t, err)
	return list
}

// wantChain checks the chain of the log and its separately stored head.
func (w *World) wantChain(t *testing.T, rows int) {
	t.Helper()
	var head rewards.LogHead
	kept, err := w.WalkLog(t.Context(), func(d rewards.LogEntry) error {
		err := d.Follows(head)
		head = d.Head()
		return err
	})
	check(t, err)
	if head.Number != int64(rows) || kept != head.String() {
		t.Errorf("the head is %s, stored is %s; want %d entries", head, kept, rows)
	}
}

// decided reads by SQL what operators have decided.
func (w *World) decided(t *testing.T) (lines []string) {
	t.Helper()
	check(t, w.engine.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
		lines = nil
		for _, query := range []string{
			`SELECT name, suspended + concurrent FROM apps ORDER BY id`, `SELECT label, expires_at + revoked_at FROM keys ORDER BY id`,
			`SELECT symbol, enabled + doubt_price FROM assets ORDER BY id`,
			`SELECT client_order_id, acknowledged_at FROM broker_conflicts ORDER BY client_order_id`,
			`SELECT id, state + approved_at FROM actions ORDER BY id`, `SELECT name, dividends FROM apps ORDER BY id`,
			`SELECT action_id, generation FROM switches ORDER BY number`,
			`SELECT name, allowed + state FROM budgets ORDER BY id`,
			`SELECT value, 0 FROM settings WHERE name IN ('paused', 'moved') ORDER BY name`,
		} {
			err := tx.Query(ctx, func(row store.Row) error {
				var text string
				var number int64
				err := row.Scan(&text, &number)
				lines = append(lines, fmt.Sprint(text, " ", number))
				return err
			}, query)
			if err != nil {
				return err
			}
		}
		return nil
	}))
	orders, err := w.Orders(t.Context(), 0, all[rewards.Order]())
	check(t, err)
	for _, o := range orders {
		lines = append(lines, o.Symbol+" "+o.State.String())
	}
	failed, err := w.Rewards(t.Context(), w.App.ID, rewards.RewardFilter{Status: rewards.Failed}, all[rewards.Reward]())
	check(t, err)
	for i := range failed {
		lines = append(lines, failed[i].FailureReason)
	}
	return lines
}

// zeros is a random source that is not random.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(b []byte) (int, error) { return len(b), nil }

var errUnlogged = errors.New("cannot write the operator log")

// unlogged is an engine that fails to write the operator log.
type unlogged struct{ store.Engine }

// Write implements store.Engine.
func (e unlogged) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Engine.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if columns, ok := tx.(store.ColumnTx); ok {
			return f(ctx, unloggedColumns{unloggedTx{tx}, columns})
		}
		return f(ctx, unloggedTx{tx})
	})
}

// WriteBooks implements store.Engine.
func (e unlogged) WriteBooks(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Write(ctx, f)
}

type unloggedColumns struct {
	unloggedTx
	columns store.ColumnTx
}

// AcceptsColumns implements store.ColumnTx.
func (x unloggedColumns) AcceptsColumns() { x.columns.AcceptsColumns() }

type unloggedTx struct{ store.Tx }

// Exec implements store.Tx.
func (x unloggedTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if strings.Contains(query, "INTO operator_log") {
		return 0, errUnlogged
	}
	return x.Tx.Exec(ctx, query, args...)
}
