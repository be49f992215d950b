package books

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/broker/paper/random"
	"stockrewards/internal/money"
)

// The types of activities.
const (
	ActivityFill     = "FILL"
	ActivitySplit    = "SPLIT"
	ActivityDividend = "DIV"
	ActivityTax      = "DIVNRA"
	ActivityName     = "NC"
	ActivitySpinOff  = "SPIN"
	ActivityMerger   = "MA"
	ActivityReorg    = "REORG"
	ActivityCash     = "CIL"
)

// NonTrades returns the types of activities that are no trades.
func NonTrades() []string {
	return []string{
		ActivitySplit, ActivityDividend, ActivityTax, ActivityName, ActivitySpinOff, ActivityMerger,
		ActivityReorg, ActivityCash,
	}
}

// activity is a change of cash or positions, as the account's activities list it.
type activity struct {
	kind string
	at   time.Time
	key  string // identifies it among those of its instant
	body map[string]string
}

// entry is what a corporate action books in one activity.
type entry struct {
	kind, subtype string
	symbol        string
	qty           money.Shares
	net           money.USD
	price         money.Price // of a share; 0 for none
	perShare      money.Price // cash for a share; 0 for none
	date          string      // empty: the ex-date
	status        string      // empty: executed
	previous      string      // the id of the activity that it corrects
}

// types returns the type and sub-type of the action's activities about shares.
func (a *Action) types() (kind, subtype string) {
	switch a.Type {
	case ForwardSplit:
		return ActivitySplit, "FSPLIT"
	case ReverseSplit:
		return ActivitySplit, "RSPLIT"
	case StockDividend:
		return ActivityDividend, "SDIV"
	case CashDividend:
		return ActivityDividend, "CDIV"
	case NameChange:
		return ActivityName, "SNC"
	case SpinOff:
		return ActivitySpinOff, ""
	case StockMerger:
		return ActivityMerger, "SMA"
	case CashMerger:
		return ActivityMerger, "CMA"
	case StockAndCashMerger:
		return ActivityMerger, "SCMA"
	}
	return ActivityReorg, "WRM"
}

// activity returns the activity of an entry.
func (a *Action) activity(e entry, at time.Time) activity {
	body := map[string]string{
		"date": cmp.Or(e.date, a.ExDate), "created_at": at.Format(time.RFC3339Nano),
		"net_amount": e.net.String(), "qty": e.qty.String(), "symbol": e.symbol, "cusip": CUSIP(e.symbol),
		"currency": "USD", "status": cmp.Or(e.status, "executed"), "group_id": a.ID,
	}
	optional := func(name, value string, present bool) {
		if present {
			body[name] = value
		}
	}
	optional("activity_sub_type", e.subtype, e.subtype != "")
	optional("price", e.price.String(), e.price != 0)
	optional("per_share_amount", e.perShare.String(), e.perShare != 0)
	optional("previous_id", e.previous, e.previous != "")
	return activity{e.kind, at, a.ID + e.kind + e.symbol + e.status + e.qty.String(), body}
}

// activity returns the activity of a fill, after which the order has a total and a state.
func (o *Order) activity(f fill, total money.Shares, after State) activity {
	kind, status, leaves := "fill", string(after), money.Shares(0)
	if after == StateOpen {
		kind, status, leaves = "partial_fill", "partially_filled", max(0, o.Qty-total)
	}
	return activity{ActivityFill, o.DueAt, o.ID + total.String(), map[string]string{
		"order_id": o.ID, "order_status": status, "type": kind, "side": o.Side, "symbol": o.Symbol,
		"qty": f.qty.String(), "price": f.price.String(), "cum_qty": total.String(), "leaves_qty": leaves.String(),
		"transaction_time": o.DueAt.Format(time.RFC3339Nano),
	}}
}

// CUSIP returns a made-up identifier of a security, in the form of a CUSIP number.
func CUSIP(security string) string {
	const length = 9
	sum := sha256.Sum256([]byte("stockrewards paper cusip " + security))
	return strings.ToUpper(hex.EncodeToString(sum[:]))[:length]
}

// id begins with the time, so that ids are in order of time.
func (a activity) id() string {
	return fmt.Sprintf("%s%03d::%s", a.at.UTC().Format("20060102150405"),
		a.at.Nanosecond()/int(time.Millisecond), random.UUID("activity "+a.key))
}

func (a activity) insert(ctx context.Context, tx *sql.Tx) error {
	id := a.id()
	a.body["id"], a.body["activity_type"] = id, a.kind
	body, err := json.Marshal(a.body, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO activities (id, type, at, body) VALUES (?1, ?2, ?3, ?4)",
		id, a.kind, stored(a.at), string(body))
	return err
}

// ActivityFilter says which activities to list.
type ActivityFilter struct {
	Types        []string // empty: all
	After, Until time.Time
	Token        string // the last id of the previous page; empty: the first page
	Limit        int
	Descending   bool
}

// Activities lists activities, each as a JSON object.
func (b *Books) Activities(ctx context.Context, f ActivityFilter, now time.Time) ([]jsontext.Value, error) {
	if err := b.catchUp(ctx, now); err != nil {
		return nil, err
	}
	query := "SELECT body FROM activities WHERE at > ?1 AND at < ?2 AND (?3 = '' OR instr(?3, ',' || type || ',') > 0)"
	if f.Descending {
		query += " AND (?4 = '' OR id < ?4) ORDER BY id DESC LIMIT ?5"
	} else {
		query += " AND id > ?4 ORDER BY id LIMIT ?5"
	}
	types := ""
	if len(f.Types) > 0 {
		types = "," + strings.Join(slices.Compact(f.Types), ",") + ","
	}
	after, until := bounds(f.After, f.Until)
	rows, err := b.reader.QueryContext(ctx, query, after, until, types, f.Token, f.Limit)
	return scanAll(rows, err, func(r row) (jsontext.Value, error) {
		var body string
		err := r.Scan(&body)
		return jsontext.Value(body), err
	})
}
