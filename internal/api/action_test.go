package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// seenAt is when the actions of these tests were first seen.
var seenAt = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// announce stores a corporate action and returns its id. Without an id it gets one.
func (w *world) announce(t *testing.T, a rewards.Action) string {
	t.Helper()
	if a.ID == "" {
		a.ID = uuid.NewString()
	}
	if a.ExDate == "" {
		a.ExDate = "2026-12-01"
	}
	if a.State == 0 {
		a.State = rewards.ActionAnnounced
	}
	if a.FirstSeen.IsZero() {
		a.FirstSeen = seenAt
	}
	_, err := w.store.EnterAction(t.Context(), a)
	check(t, err)
	return a.ID
}

// holder is an app with a user who holds shares of the stocks.
func (w *world) holder(t *testing.T, symbols ...string) (c client, user string) {
	t.Helper()
	c = w.newApp(t)
	user = c.newUser(t)
	for _, symbol := range symbols {
		c.hold(t, user, symbol, money.Share, 10*money.Dollar)
	}
	return c, user
}

// Additions, section 7: the members of each type. Decisions, numbers: exact decimals without exponent
// or trailing zeros; no digit is lost.
func TestActionsOfEveryType(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, _ := w.holder(t, "AAPL")
	for name, run := range map[string]struct {
		terms rewards.Terms
		want  string // from assetSymbol to cashRate
	}{
		"forward_split":         {rewards.Terms{OldRate: "1", NewRate: "4.000"}, `null,"oldRate":1,"newRate":4,"cashRate":null`},
		"reverse_split":         {rewards.Terms{OldRate: "10", NewRate: "1", NewSymbol: "AAPLD"}, `"AAPLD","oldRate":10,"newRate":1,"cashRate":null`},
		"stock_dividend":        {rewards.Terms{Rate: "0.05"}, `null,"oldRate":1,"newRate":1.05,"cashRate":null`},
		"cash_dividend":         {rewards.Terms{Rate: "0.4850"}, `null,"oldRate":null,"newRate":null,"cashRate":0.485`},
		"name_change":           {rewards.Terms{NewSymbol: "PEAR"}, `"PEAR","oldRate":null,"newRate":null,"cashRate":null`},
		"spin_off":              {rewards.Terms{OldRate: "3", NewRate: "1", NewSymbol: "PIE"}, `"PIE","oldRate":3,"newRate":1,"cashRate":null`},
		"stock_merger":          {rewards.Terms{OldRate: "1", NewRate: "0.2500000000000000000001", NewSymbol: "PIE"}, `"PIE","oldRate":1,"newRate":0.2500000000000000000001,"cashRate":null`},
		"cash_merger":           {rewards.Terms{Rate: "5.42e1"}, `null,"oldRate":null,"newRate":null,"cashRate":54.2`},
		"stock_and_cash_merger": {rewards.Terms{OldRate: "1", NewRate: "0.5", Rate: "12", NewSymbol: "PIE"}, `"PIE","oldRate":1,"newRate":0.5,"cashRate":12`},
		"worthless_removal":     {rewards.Terms{Rate: "7", OldRate: "1", NewRate: "2"}, `null,"oldRate":null,"newRate":null,"cashRate":null`},
	} {
		a := rewards.Action{Terms: run.terms}
		a.Type, a.Symbol = rewards.ActionType(name), "AAPL"
		id := w.announce(t, a)
		want := `{"id":"` + id + `","type":"` + name + `","assetSymbol":"AAPL","newAssetSymbol":` + run.want +
			`,"exDate":"2026-12-01","status":"announced","appliedAt":null,"note":null}`
		wantBody(t, c.get(t, "/v1/corporate-actions/"+id).wantStatus(t, http.StatusOK), `{"corporateAction":`+want+`}`)
		wantBody(t, c.get(t, "/v1/corporate-actions?limit=1&assetSymbol=AAPL&status=announced").wantStatus(t, http.StatusOK),
			`{"corporateActions":[`+want+`]}`)
		w.exec(t, `DELETE FROM actions`)
	}
}

// A rate that the broker announces as something else than a number, or with an absurd exponent, is null.
func TestUnreadableRates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, _ := w.holder(t, "AAPL")
	for _, rate := range []string{"", "?", "0", "-1", "1e99999999", "1e-99999999", strings.Repeat("9", 61)} {
		id := w.announce(t, rewards.Action{Terms: rewards.Terms{Type: "forward_split", Symbol: "AAPL", OldRate: "1", NewRate: rate}})
		c.get(t, "/v1/corporate-actions/"+id).want(t, nil, "corporateAction", "newRate")
	}
	id := w.announce(t, rewards.Action{Terms: rewards.Terms{Type: "stock_dividend", Symbol: "AAPL", Rate: "?", ExDate: "soon"}})
	c.get(t, "/v1/corporate-actions/"+id).want(t, nil, "corporateAction", "newRate").want(t, nil, "corporateAction", "exDate")
}

// Additions, section 7: the five statuses. An ignored action is withdrawn, with a note. Actions that
// passed before anybody had shares, unknown types and doubtful positions are not shown.
func TestActionStatuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, _ := w.holder(t, "AAPL")
	at := time.Date(2026, 12, 1, 7, 30, 12, 204_500_000, time.UTC)
	ids := make(map[string][]string)
	for state := rewards.ActionAnnounced; state <= rewards.ActionUndoing; state++ {
		a := rewards.Action{
			Terms: rewards.Terms{Type: "forward_split", Symbol: "AAPL", OldRate: "1", NewRate: "4"},
			State: state, AppliedAt: at, DecidedAt: at, Note: "why", FirstSeen: seenAt.Add(time.Duration(state)),
		}
		id := w.announce(t, a)
		if state == rewards.ActionPassed {
			c.get(t, "/v1/corporate-actions/"+id).wantError(t, http.StatusNotFound, "not_found", nil)
			c.get(t, "/v1/corporate-actions/"+id+"/effects").wantError(t, http.StatusNotFound, "not_found", nil)
			continue
		}
		ids[state.Shown()] = append([]string{id}, ids[state.Shown()]...)
		applied := any(nil)
		if state >= rewards.ActionApplied {
			applied = "2026-12-01T07:30:12.204Z"
		}
		c.get(t, "/v1/corporate-actions/"+id).want(t, state.Shown(), "corporateAction", "status").
			want(t, applied, "corporateAction", "appliedAt").want(t, "why", "corporateAction", "note")
	}
	for _, kind := range []rewards.ActionType{rewards.ActionPosition, rewards.ActionRights, "things_of_tomorrow"} {
		id := w.announce(t, rewards.Action{Terms: rewards.Terms{Type: kind, Symbol: "AAPL", OldRate: "1", NewRate: "4"}})
		c.get(t, "/v1/corporate-actions/"+id).wantError(t, http.StatusNotFound, "not_found", nil)
	}
	all := 0
	for _, status := range []string{"announced", "applied", "held", "withdrawn", "undone"} {
		got := c.ids(t, "/v1/corporate-actions?status="+status, "corporateActions")
		slices.Sort(got)
		slices.Sort(ids[status])
		if diff := cmp.Diff(ids[status], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", status, diff)
		}
		all += len(got)
	}
	if n := len(c.ids(t, "/v1/corporate-actions", "corporateActions")); n != all || n != 8 {
		t.Errorf("%d actions without a filter, %d with each", n, all)
	}
	for _, bad := range []string{"", "Applied", "swept", "passed", "ignored", "undoing", "unknown", "applied,held"} {
		c.get(t, "/v1/corporate-actions?status="+bad).wantIssues(t, "status")
	}
	c.get(t, "/v1/corporate-actions?status=held&status=held&assetSymbol=&limit=0&cursor=x").
		wantIssues(t, "status", "assetSymbol", "limit", "cursor")
}

// The broker's position is the sum of all apps: no app sees it in a note.
func TestNotesHideWhatOtherAppsHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, _ := w.holder(t, "AAPL")
	a := rewards.Action{
		Terms:    rewards.Terms{Type: "forward_split", Symbol: "AAPL", OldRate: "1", NewRate: "4", ExDate: "2026-12-01"},
		Boundary: seenAt,
	}
	conversion, err := a.Conversion(0, rewards.Fraction{})
	check(t, err)
	judgment, note := a.Judge(conversion, rewards.Standing{
		Now: seenAt, Source: rewards.Stake{Booked: 777 * money.Share, Theirs: 999 * money.Share},
	})
	if judgment != rewards.JudgeDiffer || !strings.Contains(note, "777") {
		t.Fatalf("judged %d, %q", judgment, note)
	}
	a.State, a.Note = rewards.ActionHeld, note
	a.ID = w.announce(t, a)
	got := c.get(t, "/v1/corporate-actions/"+a.ID).text(t, "corporateAction", "note")
	if got == "" || strings.ContainsAny(got, "0123456789") {
		t.Errorf("the note is %q", got)
	}
}

// Additions, section 7: only actions of stocks that users of the app hold or held. The filter finds
// the stock that an action changes, and the one that results.
func TestActionsOfTheAppsStocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	apple, _ := w.holder(t, "AAPL")
	cola, _ := w.holder(t, "KO")
	both, _ := w.holder(t, "AAPL", "KO")
	nothing := w.newApp(t)
	w.exec(t, `DELETE FROM holdings WHERE app_id = ?1`, cola.app.ID[:]) // it held KO
	split := w.announce(t, rewards.Action{Terms: rewards.Terms{Type: "forward_split", Symbol: "AAPL", OldRate: "1", NewRate: "4"}, FirstSeen: seenAt})
	spin := w.announce(t, rewards.Action{Terms: rewards.Terms{Type: "spin_off", Symbol: "AAPL", NewSymbol: "KO", OldRate: "1", NewRate: "4"}, FirstSeen: seenAt.Add(1000)})
	for _, run := range []struct {
		of    client
		query string
		want  []string
	}{
		{apple, "", []string{spin, split}},
		{cola, "", []string{spin}},
		{both, "", []string{spin, split}},
		{nothing, "", []string{}},
		{apple, "?assetSymbol=AAPL", []string{spin, split}},
		{apple, "?assetSymbol=aapl", []string{spin, split}},
		{apple, "?assetSymbol=KO", []string{spin}},
		{cola, "?assetSymbol=AAPL", []string{spin}},
		{cola, "?assetSymbol=KO&status=announced", []string{spin}},
		{cola, "?assetSymbol=KO&status=held", []string{}},
		{apple, "?assetSymbol=NVDA", []string{}},
		{apple, "?assetSymbol=NONE", []string{}},
		{nothing, "?assetSymbol=AAPL", []string{}},
	} {
		if diff := cmp.Diff(run.want, run.of.ids(t, "/v1/corporate-actions"+run.query, "corporateActions")); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", run.of.app.Name, run.query, diff)
		}
	}
	for c, status := range map[client]int{apple: 200, cola: 404, both: 200, nothing: 404} {
		c.get(t, "/v1/corporate-actions/"+split).wantStatus(t, status)
		c.get(t, "/v1/corporate-actions/"+split+"/effects").wantStatus(t, status)
	}
	for _, bad := range []string{"", "%00", "12345678901234567", "%ff"} {
		apple.get(t, "/v1/corporate-actions?assetSymbol="+bad).wantIssues(t, "assetSymbol")
	}
	apple.get(t, "/v1/corporate-actions?assetSymbol="+strings.Repeat("%C3%A4", 16)).wantStatus(t, http.StatusOK)
}

// Decisions, lists: newest first, every action once, also while new ones arrive and many have the
// same time.
func TestActionPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, _ := w.holder(t, "AAPL")
	n := 0
	add := func(symbol string) string {
		n++
		return w.announce(t, rewards.Action{
			ID:    fmt.Sprintf("00000000-0000-4000-8000-%012d", n),
			Terms: rewards.Terms{Type: "cash_dividend", Symbol: symbol, Rate: "1"}, FirstSeen: seenAt.Add(time.Duration(n/3) * time.Second),
		})
	}
	var want []string
	for range 10 {
		want = append([]string{add("AAPL")}, want...)
		add("KO") // which nobody of this app holds
	}
	for _, limit := range []string{"1", "3", "10", "200"} {
		got := c.walk(t, "/v1/corporate-actions?limit="+limit, "corporateActions", func() {})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("limit %s (-want +got):\n%s", limit, diff)
		}
	}
	got := c.walk(t, "/v1/corporate-actions?assetSymbol=AAPL&status=announced&limit=3", "corporateActions", func() { add("AAPL") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("while new ones arrive (-want +got):\n%s", diff)
	}
	cursor := c.cursor(t, "/v1/corporate-actions?limit=1")
	other, _ := w.holder(t, "AAPL")
	for _, target := range []string{"assetSymbol=AAPL&", "status=announced&", "limit=2&limit=2&"} {
		c.get(t, "/v1/corporate-actions?"+target+"cursor="+cursor).wantStatus(t, http.StatusBadRequest)
	}
	other.get(t, "/v1/corporate-actions?cursor="+cursor).wantIssues(t, "cursor")
	c.get(t, "/v1/rewards?cursor="+cursor).wantIssues(t, "cursor")
	c.get(t, "/v1/corporate-actions/"+want[0]+"/effects?cursor="+cursor).wantIssues(t, "cursor")
	c.get(t, "/v1/corporate-actions?cursor="+c.cursorOfRewards(t)).wantIssues(t, "cursor")
}

func (c client) cursorOfRewards(t *testing.T) string {
	t.Helper()
	c.giveMany(t, c.newUser(t), 2)
	return c.cursor(t, "/v1/rewards?limit=1")
}

// Decisions, identifiers: an unknown UUID is 404, anything else that is no id is 400. A broker may
// have ids of another form.
func TestActionIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, _ := w.holder(t, "AAPL")
	terms := rewards.Terms{Type: "forward_split", Symbol: "AAPL", OldRate: "1", NewRate: "4"}
	id := w.announce(t, rewards.Action{Terms: terms})
	for _, odd := range []string{id, "entered-0123", "20261201:AAPL?#%>"} {
		if odd != id {
			w.announce(t, rewards.Action{Terms: terms, ID: odd})
		}
		escaped := strings.NewReplacer("?", "%3F", "#", "%23", "%", "%25", ">", "%3E").Replace(odd)
		c.get(t, "/v1/corporate-actions/"+escaped).want(t, odd, "corporateAction", "id")
		wantBody(t, c.get(t, "/v1/corporate-actions/"+escaped+"/effects").wantStatus(t, http.StatusOK), `{"effects":[]}`)
	}
	c.get(t, "/v1/corporate-actions/"+strings.ToUpper(id)).want(t, id, "corporateAction", "id")
	for _, end := range []string{"", "/effects"} {
		c.get(t, "/v1/corporate-actions/"+unknownID+end).wantError(t, http.StatusNotFound, "not_found", nil)
		for _, bad := range []string{"x", "%00", "a%00", "%ff", strings.Repeat("x", 1000), "{" + id + "}", "entered-0124"} {
			c.get(t, "/v1/corporate-actions/"+bad+end).wantIssues(t, "corporateActionId")
		}
	}
	c.get(t, "/v1/corporate-actions/x/effects?limit=0&cursor=a").wantIssues(t, "corporateActionId", "limit", "cursor")
	c.get(t, "/v1/corporate-actions/"+id+"/effects?limit=201&cursor=x").wantIssues(t, "limit", "cursor")
	for _, target := range []string{"/", "/" + id + "/", "/" + id + "/effects/", "//effects", "/" + id + "/effect"} {
		c.get(t, "/v1/corporate-actions"+target).wantError(t, http.StatusNotFound, "not_found", nil)
	}
}
