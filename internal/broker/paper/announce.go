package paper

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/money"
)

// The types of corporate actions that the code treats apart.
const (
	forwardSplit  = "forward_split"
	reverseSplit  = "reverse_split"
	cashDividend  = "cash_dividend"
	stockDividend = "stock_dividend"
	nameChange    = "name_change"
	worthless     = "worthless_removal"
)

// The members of an announcement that the code treats apart.
const (
	memberType      = "type"
	memberSymbol    = "symbol"
	memberOldRate   = "old_rate"
	memberNewRate   = "new_rate"
	memberExDate    = "ex_date"
	memberProcess   = "process_date"
	memberEffective = "effective_date"
	memberPayable   = "payable_date"
)

// actionType is what is special about a type of corporate action.
type actionType struct {
	group    string   // its member in the list
	stock    string   // the member that names the stock whose units change
	date     string   // the member with the date on which it happens
	members  []string // what an announcement must have, besides these two
	optional []string
}

// actionTypes is the table of all types that can be announced.
func actionTypes() map[string]actionType {
	const acquiree = "acquiree_symbol"
	return map[string]actionType{
		forwardSplit:  {"forward_splits", memberSymbol, memberExDate, []string{memberOldRate, memberNewRate}, nil},
		reverseSplit:  {"reverse_splits", memberSymbol, memberExDate, []string{memberOldRate, memberNewRate}, nil},
		stockDividend: {"stock_dividends", memberSymbol, memberExDate, []string{"rate"}, nil},
		cashDividend:  {"cash_dividends", memberSymbol, memberExDate, []string{"rate", memberPayable}, nil},
		nameChange:    {"name_changes", "old_symbol", memberProcess, []string{"new_symbol"}, nil},
		worthless:     {"worthless_removals", memberSymbol, memberProcess, nil, nil},
		"spin_off": {
			"spin_offs", "source_symbol", memberExDate, []string{"source_rate", "new_symbol", memberNewRate}, nil,
		},
		"stock_merger": {
			"stock_mergers", acquiree, memberEffective,
			[]string{"acquirer_symbol", "acquiree_rate", "acquirer_rate"},
			nil,
		},
		"cash_merger": {"cash_mergers", acquiree, memberEffective, []string{"rate"}, []string{"acquirer_symbol"}},
		"stock_and_cash_merger": {
			"stock_and_cash_mergers", acquiree, memberEffective,
			[]string{"acquirer_symbol", "acquiree_rate", "acquirer_rate", "cash_rate"},
			nil,
		},
	}
}

// maxRate bounds a rate: a million.
const maxRate = 1_000_000 * money.Share

// notice is an announcement as it is sent: its members, their form not checked.
type notice map[string]jsontext.Value

// text is a member that must be a string; "" when it is none.
func (n notice) text(name string) string {
	var s string
	if n[name].Kind() != jsontext.KindString || json.Unmarshal(n[name], &s) != nil {
		return ""
	}
	return s
}

// check fails when a member is missing, unknown, or not of the form of its name.
func (n notice) check(t actionType) error {
	required := append([]string{memberType, t.stock, t.date}, t.members...)
	for _, name := range required {
		if _, present := n[name]; !present {
			return badRequest(name + " is required")
		}
	}
	for name, value := range n {
		if !slices.Contains(required, name) && !slices.Contains(t.optional, name) {
			return badRequest("unknown member " + name)
		}
		if err := checkMember(name, value, n.text(name)); err != nil {
			return err
		}
	}
	return nil
}

func checkMember(name string, value jsontext.Value, text string) error {
	switch {
	case strings.HasSuffix(name, "rate"):
		if value.Kind() != jsontext.KindNumber || rate(value) <= 0 {
			return badRequest(name + " must be a JSON number above 0, at most 1000000, with at most 9 decimals")
		}
	case strings.HasSuffix(name, "date"):
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return badRequest(name + ` must be a date such as "2026-11-27"`)
		}
	case strings.HasSuffix(name, memberSymbol):
		if !wellFormedSymbol(text) {
			return badRequest(name + ` must be a symbol such as "BRK.B"`)
		}
	}
	return nil
}

func wellFormedSymbol(text string) bool {
	const longest = 16
	other := func(c rune) bool { return (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-' }
	return text != "" && len(text) <= longest && !strings.ContainsFunc(text, other)
}

// rate is a rate in billionths; 0 when it is not of the form.
func rate(value jsontext.Value) int64 {
	n, err := money.ParseShares(string(value))
	if err != nil || n > maxRate {
		return 0
	}
	return int64(n)
}

// ratio checks the ratio of a split.
func (n notice) ratio(kind string) (oldRate, newRate int64, err error) {
	oldRate, newRate = rate(n[memberOldRate]), rate(n[memberNewRate])
	switch {
	case kind == forwardSplit && newRate <= oldRate:
		err = badRequest("new_rate must be above old_rate in a forward split")
	case kind == reverseSplit && newRate >= oldRate:
		err = badRequest("new_rate must be below old_rate in a reverse split")
	}
	return oldRate, newRate, err
}

// newAction makes an action of what was sent, as it is announced at that moment. It
// happens at 02:30 New York of its date, or at once when that has passed.
func (b *Brokerage) newAction(n notice, now time.Time) (*action, error) {
	kind := n.text(memberType)
	t, known := actionTypes()[kind]
	if !known {
		return nil, badRequest("type must be a corporate action such as forward_split")
	}
	if err := n.check(t); err != nil {
		return nil, err
	}
	a := &action{kind: kind, symbol: n.text(t.stock), exDate: n.text(t.date), state: actionAnnounced}
	if b.market.bySymbol[a.symbol] == nil {
		return nil, badRequest(fmt.Sprintf("%s: asset %q not found", t.stock, a.symbol))
	}
	var err error
	if a.splits() {
		if a.oldRate, a.newRate, err = n.ratio(kind); err != nil {
			return nil, err
		}
	}
	if a.processDate = a.exDate; kind == cashDividend {
		if a.processDate = n.text(memberPayable); a.processDate < a.exDate {
			return nil, badRequest("payable_date must not be before ex_date")
		}
	}
	day, err := time.Parse(time.DateOnly, a.exDate)
	if err != nil || day.Year() < firstClockYear || day.Year() > lastClockYear {
		return nil, badRequest(fmt.Sprintf("%s: year %d: must be from %d to %d",
			t.date, day.Year(), firstClockYear, lastClockYear))
	}
	a.darkFrom, a.happensAt = b.market.night(day)
	a.darkFrom, a.happensAt = later(a.darkFrom, now), later(a.happensAt, now)
	if kind == cashDividend {
		a.darkFrom = a.happensAt
	}
	if a.id, err = b.ids.next(); err != nil {
		return nil, err
	}
	a.body, err = n.announcement(a)
	return a, err
}

// night is when trading stops before a day on which units change, and when it goes on:
// 20:00 New York of the session before, and 02:30 of that day.
func (m *market) night(day time.Time) (dark, happens time.Time) {
	const evening, hour, minute = 20, 2, 30
	y, month, d := day.Date()
	happens = time.Date(y, month, d, hour, minute, 0, 0, m.newYork)
	before := time.Date(y, month, d-1, 0, 0, 0, 0, m.zone)
	for open := false; !open; before = before.AddDate(0, 0, -1) {
		if _, open = m.on(before); open {
			y, month, d = before.Date()
		}
	}
	return time.Date(y, month, d, evening, 0, 0, 0, m.newYork), happens
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// announcement is the action as the market data API lists it.
func (n notice) announcement(a *action) (string, error) {
	w := map[string]any{"id": a.id, memberProcess: a.processDate}
	for name, value := range n {
		if name == memberType {
			continue
		}
		w[name] = value
		if symbol, found := strings.CutSuffix(name, memberSymbol); found {
			w[symbol+"cusip"] = cusip(n.text(name))
		}
	}
	switch a.kind {
	case reverseSplit: // the new shares have a number of their own
		w["old_cusip"], w["new_cusip"] = w["cusip"], cusip(a.symbol+a.id)
		delete(w, "cusip")
	case cashDividend:
		w["special"], w["foreign"] = false, false
	}
	body, err := json.Marshal(w, json.Deterministic(true))
	return string(body), err
}

// cusip is a number like those that identify a security; it follows from the symbol.
func cusip(symbol string) string {
	const length = 9
	sum := sha256.Sum256([]byte("stockrewards paper cusip " + symbol))
	return strings.ToUpper(hex.EncodeToString(sum[:]))[:length]
}

// postAction announces a corporate action.
func (b *Brokerage) postAction(r *http.Request) (any, error) {
	var n notice
	if err := readControl(r, &n); err != nil {
		return nil, err
	}
	now := b.clock.micros()
	if err := b.progress(r.Context(), now); err != nil {
		return nil, err
	}
	a, err := b.newAction(n, now)
	if err != nil {
		return nil, err
	}
	err = b.books.update(r.Context(), func(tx *sql.Tx) error { return insertAction(r.Context(), tx, a) })
	if err != nil {
		return nil, err
	}
	return created{jsontext.Value(a.body)}, b.learnChanges(r.Context())
}

// deleteAction withdraws an action that has not happened.
func (b *Brokerage) deleteAction(r *http.Request) (any, error) {
	ctx, id := r.Context(), r.PathValue("id")
	if err := b.progress(ctx, b.clock.micros()); err != nil {
		return nil, err
	}
	err := b.books.update(ctx, func(tx *sql.Tx) error { return withdraw(ctx, tx, id) })
	if err != nil {
		return nil, err
	}
	return nil, b.learnChanges(ctx)
}

func withdraw(ctx context.Context, tx *sql.Tx, id string) error {
	list, err := scanActions(tx.QueryContext(ctx, "SELECT "+actionColumns+" FROM actions WHERE id = ?1", id))
	switch {
	case err != nil:
		return err
	case len(list) == 0 || list[0].state == actionWithdrawn:
		return notFound("there is no corporate action with the id %s", id)
	case list[0].state == actionHappened:
		return conflict("the corporate action %s has happened", id)
	}
	return list[0].setState(ctx, tx, actionWithdrawn)
}
