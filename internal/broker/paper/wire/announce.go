package wire

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/broker/paper/apierror"
	"stockrewards/internal/broker/paper/books"
	"stockrewards/internal/money"
)

const cashDividend = "cash_dividend"

// The members of announcements that the code reads.
const (
	memberType    = "type"
	memberSymbol  = "symbol"
	memberOldRate = "old_rate"
	memberNewRate = "new_rate"
	memberExDate  = "ex_date"
	memberProcess = "process_date"
	memberPayable = "payable_date"
)

// actionType describes the announcements of one type of corporate action.
type actionType struct {
	group    string   // the member of the list that has them
	stock    string   // the member that names the stock whose units change
	date     string   // the member with the date on which it happens
	required []string // the other members that an announcement must have
	optional string   // a member that it may have
}

func actionTypes() map[string]actionType {
	const (
		acquiree, acquirer         = "acquiree_symbol", "acquirer_symbol"
		acquireeRate, acquirerRate = "acquiree_rate", "acquirer_rate"
		effective                  = "effective_date"
	)
	required := func(names ...string) []string { return names }
	ratio := required(memberOldRate, memberNewRate)
	return map[string]actionType{
		books.ForwardSplit:  {"forward_splits", memberSymbol, memberExDate, ratio, ""},
		books.ReverseSplit:  {"reverse_splits", memberSymbol, memberExDate, ratio, ""},
		"stock_dividend":    {"stock_dividends", memberSymbol, memberExDate, required("rate"), ""},
		cashDividend:        {"cash_dividends", memberSymbol, memberExDate, required("rate", memberPayable), ""},
		"name_change":       {"name_changes", "old_symbol", memberProcess, required("new_symbol"), ""},
		"worthless_removal": {"worthless_removals", memberSymbol, memberProcess, nil, ""},
		"spin_off": {
			"spin_offs", "source_symbol", memberExDate, required("source_rate", "new_symbol", memberNewRate), "",
		},
		"stock_merger": {"stock_mergers", acquiree, effective, required(acquirer, acquireeRate, acquirerRate), ""},
		"cash_merger":  {"cash_mergers", acquiree, effective, required("rate"), acquirer},
		"stock_and_cash_merger": {
			"stock_and_cash_mergers", acquiree, effective,
			required(acquirer, acquireeRate, acquirerRate, "cash_rate"), "",
		},
	}
}

type announcement map[string]jsontext.Value

// str returns a member that must be a string, "" when it is not one.
func (n announcement) str(name string) string {
	var s string
	if n[name].Kind() != jsontext.KindString || json.Unmarshal(n[name], &s) != nil {
		return ""
	}
	return s
}

// rate returns a rate in billionths, 0 when it is not a JSON number from above 0 to a
// million with at most nine decimals.
func (n announcement) rate(name string) int64 {
	const maxRate = 1_000_000 * money.Share
	rate, err := money.ParseShares(string(n[name]))
	if err != nil || n[name].Kind() != jsontext.KindNumber || rate < 0 || rate > maxRate {
		return 0
	}
	return int64(rate)
}

// check fails when a member is missing, unknown or malformed.
func (n announcement) check(t actionType) error {
	required := append([]string{memberType, t.stock, t.date}, t.required...)
	for _, name := range required {
		if _, present := n[name]; !present {
			return apierror.BadRequest("%s is required", name)
		}
	}
	for name := range n {
		if name != t.optional && !slices.Contains(required, name) {
			return apierror.BadRequest("unknown member %s", name)
		}
		if err := n.checkMember(name); err != nil {
			return err
		}
	}
	return nil
}

// checkMember checks a member by the ending of its name.
func (n announcement) checkMember(name string) error {
	switch {
	case strings.HasSuffix(name, "rate"):
		if n.rate(name) == 0 {
			return apierror.BadRequest("%s must be a JSON number above 0, up to 1000000, with at most 9 decimals", name)
		}
	case strings.HasSuffix(name, "date"):
		if _, err := time.Parse(time.DateOnly, n.str(name)); err != nil {
			return apierror.BadRequest(`%s must be a date such as "2026-11-27"`, name)
		}
	case strings.HasSuffix(name, memberSymbol):
		if !isSymbol(n.str(name)) {
			return apierror.BadRequest(`%s must be a symbol such as "BRK.B"`, name)
		}
	}
	return nil
}

func isSymbol(s string) bool {
	const longest = 16
	other := func(c rune) bool { return (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-' }
	return s != "" && len(s) <= longest && !strings.ContainsFunc(s, other)
}

// newAction returns the corporate action of an announcement. It happens at 02:30 New York
// of its date, or at once when that has passed.
func (s *Server) newAction(n announcement, now time.Time) (*books.Action, error) {
	a := &books.Action{Type: n.str(memberType), State: books.ActionAnnounced}
	t, known := actionTypes()[a.Type]
	if !known {
		return nil, apierror.BadRequest("type must be a corporate action such as forward_split")
	}
	if err := n.check(t); err != nil {
		return nil, err
	}
	a.Symbol, a.ExDate, a.ProcessDate = n.str(t.stock), n.str(t.date), n.str(t.date)
	if s.exchange.BySymbol(a.Symbol) == nil {
		return nil, apierror.BadRequest("%s: asset %q not found", t.stock, a.Symbol)
	}
	if err := n.readTerms(a); err != nil {
		return nil, err
	}
	day, err := time.Parse(time.DateOnly, a.ExDate)
	if err != nil || day.Year() < books.FirstYear || day.Year() > books.LastYear {
		return nil, apierror.BadRequest("%s: year %d: must be from %d to %d",
			t.date, day.Year(), books.FirstYear, books.LastYear)
	}
	halt, happens := s.exchange.Overnight(day)
	a.HaltFrom, a.HappensAt = later(halt, now), later(happens, now)
	if a.Type == cashDividend {
		a.HaltFrom = a.HappensAt // no halt
	}
	if a.ID, err = s.ids.Next(); err != nil {
		return nil, err
	}
	a.Body, err = n.body(a)
	return a, err
}

// readTerms reads the ratio of a split and the process date of a cash dividend.
func (n announcement) readTerms(a *books.Action) error {
	switch a.Type {
	case books.ForwardSplit, books.ReverseSplit:
		a.OldRate, a.NewRate = n.rate(memberOldRate), n.rate(memberNewRate)
		if a.Type == books.ForwardSplit && a.NewRate <= a.OldRate {
			return apierror.BadRequest("new_rate must be above old_rate in a forward split")
		}
		if a.Type == books.ReverseSplit && a.NewRate >= a.OldRate {
			return apierror.BadRequest("new_rate must be below old_rate in a reverse split")
		}
	case cashDividend:
		if a.ProcessDate = n.str(memberPayable); a.ProcessDate < a.ExDate {
			return apierror.BadRequest("payable_date must not be before ex_date")
		}
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// body returns the announcement as the market data API lists it.
func (n announcement) body(a *books.Action) (string, error) {
	w := map[string]any{"id": a.ID, memberProcess: a.ProcessDate}
	for name, value := range n {
		if name == memberType {
			continue
		}
		w[name] = value
		if prefix, found := strings.CutSuffix(name, memberSymbol); found {
			w[prefix+"cusip"] = books.CUSIP(n.str(name))
		}
	}
	switch a.Type {
	case books.ReverseSplit: // the new shares have another number
		w["old_cusip"], w["new_cusip"] = w["cusip"], books.CUSIP(a.Symbol+a.ID)
		delete(w, "cusip")
	case cashDividend:
		w["special"], w["foreign"] = false, false
	}
	body, err := json.Marshal(w, json.Deterministic(true))
	return string(body), err
}

func (s *Server) postAction(r *http.Request) (any, error) {
	var n announcement
	if err := readControl(r, &n); err != nil {
		return nil, err
	}
	now := s.now()
	a, err := s.newAction(n, now)
	if err != nil {
		return nil, err
	}
	return created{jsontext.Value(a.Body)}, s.books.Announce(r.Context(), a, now)
}

// deleteAction withdraws a corporate action that has not happened.
func (s *Server) deleteAction(r *http.Request) (any, error) {
	return nil, s.books.Withdraw(r.Context(), r.PathValue("id"), s.now())
}
