package paper

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/money"
)

// The types of activities that are written.
const (
	activityFill  = "FILL"
	activitySplit = "SPLIT"
)

// activity is a change of cash or positions as the account's activities list it.
type activity struct {
	kind string
	at   time.Time
	key  string // what the rest of the id follows from
	wire map[string]string
}

// id begins with the moment, so that ids are in order of time.
func (a activity) id() string {
	sum := sha256.Sum256([]byte("stockrewards paper activity " + a.key))
	const version = 8
	return a.at.UTC().Format("20060102150405") + fmt.Sprintf("%03d", a.at.Nanosecond()/int(time.Millisecond)) +
		"::" + formatUUID([16]byte(sum[:16]), version)
}

func insertActivity(ctx context.Context, tx *sql.Tx, a activity) error {
	id := a.id()
	a.wire["id"], a.wire["activity_type"] = id, a.kind
	body, err := json.Marshal(a.wire, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO activities (id, type, at, body) VALUES (?1, ?2, ?3, ?4)",
		id, a.kind, a.at.UnixMicro(), string(body))
	return err
}

// activity is the entry of a split: its quantity is what the position gained or lost.
func (a *action) activity(before, after money.Shares) activity {
	sub := "FSPLIT"
	if a.kind == reverseSplit {
		sub = "RSPLIT"
	}
	return activity{kind: activitySplit, at: a.happensAt, key: a.id, wire: map[string]string{
		"activity_sub_type": sub, "date": a.exDate, "created_at": timestamp(a.happensAt), "net_amount": "0",
		"qty": (after - before).String(), "symbol": a.symbol, "cusip": cusip(a.symbol), "currency": "USD",
		"status": "executed", "group_id": a.id,
	}}
}

// activity is the entry of a fill, of which the order has the total so far.
func (o *order) activity(f fill, total money.Shares, after state) activity {
	kind, status, leaves := "fill", string(after), money.Shares(0)
	if after == stateOpen {
		kind, status, leaves = "partial_fill", "partially_filled", max(0, o.qty-total)
	}
	return activity{kind: activityFill, at: o.dueAt, key: o.id + total.String(), wire: map[string]string{
		"order_id": o.id, "order_status": status, "type": kind, "side": o.side, "symbol": o.symbol,
		"qty": f.qty.String(), "price": f.price.String(), "cum_qty": total.String(), "leaves_qty": leaves.String(),
		"transaction_time": timestamp(o.dueAt),
	}}
}

// maxActivities is the largest page of activities, and the default.
const maxActivities = 100

// activityFilter says which activities to list.
type activityFilter struct {
	types        []string // empty: all
	after, until time.Time
	token        string // the id that ended the page before
	limit        int
	descending   bool
}

// getActivities lists what changed the account.
func (b *Brokerage) getActivities(r *http.Request) (any, error) {
	f, err := readActivityFilter(r)
	if err != nil {
		return nil, err
	}
	if err := b.progress(r.Context(), b.clock.micros()); err != nil {
		return nil, err
	}
	return b.listActivities(r.Context(), f)
}

func readActivityFilter(r *http.Request) (activityFilter, error) {
	q := r.URL.Query()
	f := activityFilter{
		types: listOf(q, "activity_types"), token: q.Get("page_token"),
		limit: maxActivities, descending: q.Get("direction") != "asc",
	}
	if one := r.PathValue("type"); one != "" {
		f.types = []string{one}
	}
	switch category := q.Get("category"); {
	case category != "" && len(f.types) > 0:
		return f, unprocessable("only one of category and activity_types is accepted")
	case category == "trade_activity":
		f.types = []string{activityFill}
	case category == "non_trade_activity":
		f.types = []string{activitySplit}
	case category != "":
		return f, unprocessable("invalid category %q", category)
	}
	if text := q.Get("page_size"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxActivities {
			return f, unprocessable("invalid page_size: must be from 1 to %d", maxActivities)
		}
		f.limit = n
	}
	err := f.readTimes(q)
	return f, err
}

func (f *activityFilter) readTimes(q url.Values) (err error) {
	if f.after, err = readInstant(q, "after"); err != nil {
		return err
	}
	if f.until, err = readInstant(q, "until"); err != nil {
		return err
	}
	day, err := readInstant(q, "date")
	if err == nil && !day.IsZero() {
		f.after, f.until = day.Add(-time.Microsecond), nextDay(day)
	}
	return err
}

func (b *Brokerage) listActivities(ctx context.Context, f activityFilter) ([]jsontext.Value, error) {
	query := "SELECT body FROM activities WHERE at > ?1 AND at < ?2 AND (?3 = '' OR instr(?3, ',' || type || ',') > 0)"
	if f.descending {
		query += " AND (?4 = '' OR id < ?4) ORDER BY id DESC LIMIT ?5"
	} else {
		query += " AND id > ?4 ORDER BY id LIMIT ?5"
	}
	after, until := int64(-1), never().UnixMicro()
	if !f.after.IsZero() {
		after = f.after.UnixMicro()
	}
	if !f.until.IsZero() {
		until = f.until.UnixMicro()
	}
	types := ""
	if len(f.types) > 0 {
		types = "," + strings.Join(slices.Compact(f.types), ",") + ","
	}
	rows, err := b.books.reader.QueryContext(ctx, query, after, until, types, f.token, f.limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err reports it
	list := []jsontext.Value{}
	for rows.Next() {
		var body string
		if err := rows.Scan(&body); err != nil {
			return nil, err
		}
		list = append(list, jsontext.Value(body))
	}
	return list, rows.Err()
}
