package audit_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/copier"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// full returns a history with rows in every table.
func full(t *testing.T) *audittest.World {
	t.Helper()
	w := audittest.History(t, audittest.NewFile)
	_, err := w.Installation(t.Context())
	w.Check(err)
	w.Check(w.PinBroker(t.Context(), "paper", rewards.BrokerAccount{ID: "account"}))
	w.Check(w.RaiseAlarm(t.Context(), "a name", "a message with 'quotes', a \ttab, a\nline and \\N"))
	w.Check(w.SetPaused(t.Context(), "é 😀 why"))
	w.Check(w.SaveReconciliation(t.Context(), w.Lease, []rewards.BrokerConflict{
		{ClientOrderID: "sr-test-one", Symbol: "KO", FilledQty: 5, Detail: "unknown"},
		{ClientOrderID: "sr-test-two", Symbol: "KO", FilledQty: 7, Detail: "unknown"},
	}, w.Now))
	w.Check(w.AcknowledgeConflict(t.Context(), "sr-test-two", "ours"))
	for i := range 4 {
		app := w.App(fmt.Sprint("app ", i))
		for j := range 5 {
			u := w.User(app, fmt.Sprint("user", i, "-", j), "", fmt.Sprint("user ", j))
			w.Give(fmt.Sprint("gift", i, "-", j), u, "KO", dollar, "", `{"n":1}`)
		}
	}
	return w
}

// dump returns the rows of a table as strings, sorted.
func dump(t *testing.T, where, table string) []string {
	t.Helper()
	rows, err := audittest.SQL(t, where).QueryContext(t.Context(), `SELECT * FROM `+table)
	check(t, err)
	defer rows.Close()
	names, err := rows.Columns()
	check(t, err)
	var list []string
	for rows.Next() {
		values, dest := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			dest[i] = &values[i]
		}
		check(t, rows.Scan(dest...))
		var row []string
		for i, name := range names {
			row = append(row, fmt.Sprintf("%s=%T:%q", name, values[i], fmt.Sprint(values[i])))
		}
		slices.Sort(row) // the engines have the columns in another order
		list = append(list, strings.Join(row, " "))
	}
	check(t, rows.Err())
	slices.Sort(list)
	return list
}

// unused matches the columns of a reward that PostgreSQL does not have.
var unused = regexp.MustCompile(` (room=[^"]*"[^"]*"|waiting=\S+$)`)

// TestCopiedStore copies a store to PostgreSQL and compares it row by row. The copy
// passes the audit and can be written.
func TestCopiedStore(t *testing.T) {
	t.Parallel()
	w := full(t)
	url := audittest.NewDatabase(t)
	check(t, audittest.OpenEngine(t, url).Close())
	copied := make(map[string]int64)
	check(t, w.BeginCutover(t.Context(), "there"))
	before := run(t, w.Where)
	check(t, copier.Copy(t.Context(), w.Where, url, copier.Options{Progress: func(table string, rows, total int64) {
		if rows > total || rows < copied[table] {
			t.Errorf("%s: %d of %d rows, after %d", table, rows, total, copied[table])
		}
		copied[table] = rows
	}}))
	for _, table := range append(audittest.Tables(), "alarms") {
		want, got := dump(t, w.Where, table), dump(t, url, table)
		switch table {
		case "settings":
			want = slices.DeleteFunc(want, func(row string) bool { return strings.Contains(row, `"moved"`) })
		case "members": // they have another reference to their rewards
			const columns = `(SELECT place, app_id, reward_id, amount, rest, shares, completes, before FROM member_rewards) AS m`
			want, got = dump(t, w.Where, columns), dump(t, url, columns)
			copied[table] = int64(len(want))
			for _, part := range []string{"member_blocks", "member_parts"} {
				if n := dump(t, url, part); int64(len(n)) != copied[part] || len(n) == 0 {
					t.Errorf("%s: %d rows, %d copied", part, len(n), copied[part])
				}
			}
		case "rewards":
			for i := range want {
				want[i] = unused.ReplaceAllString(want[i], "")
			}
			for i := range got { // all are of the first segment of PostgreSQL, which is large
				got[i] = strings.Replace(got[i], ` segment=int64:"0"`, "", 1)
			}
			slices.Sort(want)
			slices.Sort(got)
		case "webhook_shards": // their leases have ended
			want = dump(t, w.Where, "(SELECT number, holder, epoch, 0 AS until FROM webhook_shards)")
		case "webhook_workers":
			if len(want) == 0 || len(got) > 0 || copied[table] > 0 {
				t.Errorf("%s: %d rows of the source, %d of the copy; want no copied row", table, len(want), len(got))
			}
			continue
		case "open_rewards": // PostgreSQL has all of them there
			want = append(want, dump(t, w.Where, "(SELECT *, 0 AS place FROM arrivals)")...)
			slices.Sort(want)
		}
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 || copied[table] != int64(len(want)) {
			t.Errorf("%s: %d rows, %d copied (-want +got):\n%s", table, len(want), copied[table], diff)
		}
	}
	after := run(t, url)
	for i := range before.Checks { // PostgreSQL has other segments
		if ofSegments(before.Checks[i]) {
			before.Checks[i].Rows, after.Checks[i].Rows = 0, 0
		}
	}
	if !after.OK() || text(t, after) != text(t, before) {
		t.Errorf("the audit of the copy differs:\n%s", text(t, after))
	}
	if err := copier.Copy(t.Context(), w.Where, url, copier.Options{}); !errors.Is(err, copier.ErrNotEmpty) || !errors.Is(err, copier.ErrNotCopied) {
		t.Errorf("a second copy: error %v", err)
	}
	goOn(t, w, url)
}

// goOn writes the copy: ids, assets and epochs continue.
func goOn(t *testing.T, w *audittest.World, url string) {
	t.Helper()
	there, err := store.New(t.Context(), audittest.OpenEngine(t, url), func() time.Time { return w.Now }, strings.NewReader(strings.Repeat("x", 1<<20)))
	check(t, err)
	old := w.Store
	w.Operator, w.Where = there.As(w.By()), url
	defer func() { check(t, old.Close()) }() // the world closes the copy
	if err := there.CheckCutover(t.Context()); err != nil {
		t.Errorf("the seal was copied too: %v", err)
	}
	audittest.Exec(t, audittest.SQL(t, url), `INSERT INTO assets (symbol, name) VALUES ('NEW', 'an id that follows')`)
	epoch := w.Lease.Epoch
	w.Lease, err = there.TakeLease(t.Context(), "another", time.Hour, true)
	check(t, err)
	if w.Lease.Epoch <= epoch {
		t.Errorf("the epoch went from %d to %d", epoch, w.Lease.Epoch)
	}
	shards, err := there.TakeWebhookShards(t.Context(), "another", time.Hour, false)
	check(t, err)
	if len(shards) != rewards.WebhookShards {
		t.Errorf("the first process has %d shards of webhooks at once, want all %d", len(shards), rewards.WebhookShards)
	}
	u := w.User(w.App("later"), "later-user", "", "later")
	w.Give("later-gift", u, "KO", 5*dollar, "", "")
	w.Fill("later-order", "KO", 70*audittest.PerUSD)
	if r := run(t, url); !r.OK() {
		t.Errorf("the audit fails afterwards:\n%s", text(t, r))
	}
}
