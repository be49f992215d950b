package wire

import (
	"fmt"
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

// The members of announcements that the code reads.
const (
	memberType         = "type"
	memberSymbol       = "symbol"
	memberOldRate      = "old_rate"
	memberNewRate      = "new_rate"
	memberExDate       = "ex_date"
	memberProcess      = "process_date"
	memberPayable      = "payable_date"
	memberRecord       = "record_date"
	memberRate         = "rate"
	memberCashRate     = "cash_rate"
	memberTaxRate      = "tax_rate" // of the paper brokerage only
	memberNewSymbol    = "new_symbol"
	memberSourceRate   = "source_rate"
	memberAcquiree     = "acquiree_symbol"
	memberAcquirer     = "acquirer_symbol"
	memberAcquireeRate = "acquiree_rate"
	memberAcquirerRate = "acquirer_rate"
)

// actionType describes the announcements of one type of corporate action.
type actionType struct {
	group    string   // the member of the list that has them
	stock    string   // the member that names the stock that changes
	date     string   // the member with the date on which it happens
	required []string // the other members that an announcement must have
	optional []string // the members that it may have
	other    string   // the member with the stock's new symbol, or with the stock that holders get
}

func actionTypes() map[string]actionType {
	const effective = "effective_date"
	names := func(names ...string) []string { return names }
	ratio, dates := names(memberOldRate, memberNewRate), names(memberRecord, memberPayable)
	shares := names(memberAcquirer, memberAcquireeRate, memberAcquirerRate)
	return map[string]actionType{
		books.ForwardSplit: {"forward_splits", memberSymbol, memberExDate, ratio, dates, ""},
		books.ReverseSplit: {
			"reverse_splits", memberSymbol, memberExDate, ratio, append(dates, memberNewSymbol), memberNewSymbol,
		},
		books.StockDividend: {"stock_dividends", memberSymbol, memberExDate, names(memberRate), dates, ""},
		books.CashDividend: {
			"cash_dividends", memberSymbol, memberExDate, names(memberRate, memberPayable),
			names(memberRecord, memberTaxRate), "",
		},
		books.NameChange: {
			"name_changes", "old_symbol", memberProcess, names(memberNewSymbol), nil, memberNewSymbol,
		},
		books.WorthlessRemoval: {"worthless_removals", memberSymbol, memberProcess, nil, nil, ""},
		books.SpinOff: {
			"spin_offs", "source_symbol", memberExDate, names(memberSourceRate, memberNewSymbol, memberNewRate), dates,
			memberNewSymbol,
		},
		books.StockMerger: {
			"stock_mergers", memberAcquiree, effective, shares, names(memberPayable), memberAcquirer,
		},
		books.CashMerger: {
			"cash_mergers", memberAcquiree, effective, names(memberRate), names(memberAcquirer, memberPayable), "",
		},
		books.StockAndCashMerger: {
			"stock_and_cash_mergers", memberAcquiree, effective, append(shares, memberCashRate), names(memberPayable),
			memberAcquirer,
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

// rename gives a member the other name, unless that is taken.
func (n announcement) rename(from, to string) {
	if value, present := n[from]; present && n[to] == nil {
		n[to] = value
		delete(n, from)
	}
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
		if !slices.Contains(t.optional, name) && !slices.Contains(required, name) {
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
	switch a.Type { // either name of the cash is accepted
	case books.CashMerger:
		n.rename(memberCashRate, memberRate)
	case books.StockAndCashMerger:
		n.rename(memberRate, memberCashRate)
	}
	if err := n.check(t); err != nil {
		return nil, err
	}
	a.Symbol, a.ExDate, a.ProcessDate = n.str(t.stock), n.str(t.date), n.str(t.date)
	if err := s.checkStocks(n, t, a); err != nil {
		return nil, err
	}
	if err := n.checkTerms(a); err != nil {
		return nil, err
	}
	for _, name := range []string{t.date, memberPayable} {
		day, err := time.Parse(time.DateOnly, n.str(name))
		if err == nil && (day.Year() < books.FirstYear || day.Year() > books.LastYear) {
			return nil, apierror.BadRequest("%s: year %d: must be from %d to %d",
				name, day.Year(), books.FirstYear, books.LastYear)
		}
	}
	return a, s.complete(n, a, now)
}

// complete adds the id, the times, and what is listed of an announcement.
func (s *Server) complete(n announcement, a *books.Action, now time.Time) (err error) {
	if a.ID, err = s.ids.Next(); err != nil {
		return err
	}
	day, err := time.Parse(time.DateOnly, a.ExDate)
	if err != nil {
		return err
	}
	halt, happens := s.exchange.Overnight(day)
	a.HaltFrom, a.HappensAt = later(halt, now), later(happens, now)
	terms, err := n.body()
	if err != nil {
		return err
	}
	a.Terms = string(terms)
	a.Body, err = n.listed(a)
	return err
}

// checkStocks fails when the stock cannot change, or the other symbol cannot be used.
func (s *Server) checkStocks(n announcement, t actionType, a *books.Action) error {
	l, other := s.exchange.BySymbol(a.Symbol), n.str(t.other)
	if l == nil {
		return apierror.BadRequest("%s: asset %q not found", t.stock, a.Symbol)
	}
	a.AssetID = l.ID
	taken := s.exchange.BySymbol(other)
	switch {
	case l.Gone:
		return conflict(t.stock, a.Symbol, "is no longer listed")
	case other != "" && other == a.Symbol:
		return apierror.BadRequest("%s must be another symbol than %s", t.other, t.stock)
	case taken != nil && taken.Gone:
		return conflict(t.other, other, "is no longer listed")
	case taken != nil && !books.GivesStock(a.Type):
		return conflict(t.other, other, "exists")
	}
	return nil
}

func conflict(member, symbol, problem string) error {
	return apierror.FromStatus(http.StatusConflict, fmt.Sprintf("%s: asset %q %s", member, symbol, problem))
}

// checkTerms fails when the members do not fit together. It sets the ratio of the price, and
// the process date of a cash dividend.
func (n announcement) checkTerms(a *books.Action) error {
	switch {
	case a.Type == books.ForwardSplit && n.rate(memberNewRate) <= n.rate(memberOldRate):
		return apierror.BadRequest("new_rate must be above old_rate in a forward split")
	case a.Type == books.ReverseSplit && n.rate(memberNewRate) >= n.rate(memberOldRate):
		return apierror.BadRequest("new_rate must be below old_rate in a reverse split")
	case n.rate(memberTaxRate) > int64(money.Share):
		return apierror.BadRequest("tax_rate must be at most 1")
	case books.PaysCash(a.Type) && n.str(memberPayable) != "" && n.str(memberPayable) < a.ExDate:
		return apierror.BadRequest("payable_date must not be before the date on which the action happens")
	}
	if a.Type == books.CashDividend {
		a.ProcessDate = n.str(memberPayable)
	}
	if !books.MovesPrice(a.Type) {
		return nil
	}
	terms, err := n.body()
	if err != nil {
		return err
	}
	t, err := books.ReadTerms(a.Type, string(terms))
	a.OldRate, a.NewRate = t.OldRate, t.NewRate
	return err
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// listed returns the announcement as the market data API lists it.
func (n announcement) listed(a *books.Action) (string, error) {
	w := map[string]any{"id": a.ID, memberProcess: a.ProcessDate}
	for name, value := range n {
		if name == memberType || name == memberTaxRate {
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
	case books.CashDividend:
		w["special"], w["foreign"] = false, false
	}
	body, err := json.Marshal(w, json.Deterministic(true))
	return string(body), err
}

// body returns the JSON of the announcement, its members in order.
func (n announcement) body() (jsontext.Value, error) {
	return json.Marshal(n, json.Deterministic(true))
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
	t, err := books.ReadTerms(a.Type, a.Terms)
	if err != nil {
		return nil, err
	}
	a.Fates = s.faults.StrikeAction(a.Symbol, now, books.CanStrike(a.Type, t))
	if err := s.books.Announce(r.Context(), a, now); err != nil {
		return nil, err
	}
	shown, err := announced(a, now)
	if err != nil {
		return nil, err
	}
	body, err := shown.body()
	return created{body}, err
}

// deleteAction withdraws a corporate action that has not happened.
func (s *Server) deleteAction(r *http.Request) (any, error) {
	return nil, s.books.Withdraw(r.Context(), r.PathValue("id"), s.now())
}
