package alpaca_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
)

// Groups by type, rates as JSON numbers whose digits count, members that differ by type, and groups
// that are not known yet.
func TestAnnouncements(t *testing.T) {
	t.Parallel()
	first := `{"corporate_actions":{
		"forward_splits":[{"new_rate":4.0000000000000001,"old_rate":1,"symbol":"AAPL","id":"a","cusip":"1","ex_date":"2026-12-01","process_date":"2026-12-02"}],
		"name_changes":[{"id":"n","old_symbol":"FB","new_symbol":"META","process_date":"2026-12-03"}],
		"cash_mergers":[{"id":"m","acquiree_symbol":"TWTR","acquirer_symbol":"","rate":5.42e1,"effective_date":"2026-12-04","process_date":"2026-12-05"}]},
		"next_page_token":"p2"}`
	second := `{"corporate_actions":{
		"spin_offs":[{"id":"s","source_symbol":"GE","source_rate":3,"new_symbol":"GEHC","new_rate":1,"ex_date":"2026-12-06","process_date":"2026-12-06"}],
		"things_of_tomorrow":[{"id":"t","symbol":"KO","process_date":"2026-12-07","rate":null}]},"next_page_token":null}`
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/v1/corporate-actions" || q.Get("start") != "2026-11-22" || q.Get("end") != "2027-02-20" || q.Get("limit") != "1000" {
			t.Errorf("asked for %s", r.URL)
		}
		if q.Get("page_token") == "" {
			_, _ = fmt.Fprint(w, first)
			return
		}
		_, _ = fmt.Fprint(w, second)
	})
	got, next, err := client.Announcements(t.Context(), "2026-11-22", "2027-02-20", "")
	if err != nil || next != "p2" {
		t.Fatalf("next page %q, %v", next, err)
	}
	rest, next, err := client.Announcements(t.Context(), "2026-11-22", "2027-02-20", next)
	if err != nil || next != "" {
		t.Fatalf("next page %q, %v", next, err)
	}
	got = append(got, rest...)
	want := []rewards.Announcement{
		{ID: "a", ProcessDate: "2026-12-02", Terms: rewards.Terms{Type: "forward_split", Symbol: "AAPL", OldRate: "1", NewRate: "4.0000000000000001", ExDate: "2026-12-01"}},
		{ID: "m", ProcessDate: "2026-12-05", Terms: rewards.Terms{Type: "cash_merger", Symbol: "TWTR", Rate: "5.42e1", ExDate: "2026-12-04"}},
		{ID: "n", ProcessDate: "2026-12-03", Terms: rewards.Terms{Type: "name_change", Symbol: "FB", NewSymbol: "META", ExDate: "2026-12-03"}},
		{ID: "s", ProcessDate: "2026-12-06", Terms: rewards.Terms{Type: "spin_off", Symbol: "GE", NewSymbol: "GEHC", OldRate: "3", NewRate: "1", ExDate: "2026-12-06"}},
		{ID: "t", ProcessDate: "2026-12-07", Terms: rewards.Terms{Type: "things_of_tomorrow", Symbol: "KO", ExDate: "2026-12-07"}},
	}
	for i := range got {
		if !strings.Contains(got[i].Body, `"id":"`+got[i].ID+`"`) {
			t.Errorf("the raw body is %s", got[i].Body)
		}
		got[i].Body = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTermsOfEveryType reads one announcement of each group that Alpaca documents, with the members of
// its group, and keeps the digits of all rates.
func TestTermsOfEveryType(t *testing.T) {
	t.Parallel()
	const dates = `"id":"1","process_date":"2026-12-02"`
	for _, c := range []struct {
		group, members string
		want           rewards.Terms
	}{
		{
			"forward_splits", `"symbol":"A","cusip":"1","new_rate":1.50,"old_rate":1,"ex_date":"2026-12-01","record_date":"2026-11-30","payable_date":"2026-11-28"`,
			rewards.Terms{Type: "forward_split", Symbol: "A", OldRate: "1", NewRate: "1.50", ExDate: "2026-12-01", PayDate: "2026-11-28"},
		},
		{
			"reverse_splits", `"symbol":"A","old_cusip":"1","new_cusip":"2","new_rate":1,"old_rate":2.5e1,"new_symbol":"","ex_date":"2026-12-01"`,
			rewards.Terms{Type: "reverse_split", Symbol: "A", OldRate: "2.5e1", NewRate: "1", ExDate: "2026-12-01"},
		},
		{
			"reverse_splits", `"symbol":"A","old_cusip":"1","new_cusip":"2","new_rate":1,"old_rate":25,"new_symbol":"B","ex_date":"2026-12-01"`,
			rewards.Terms{Type: "reverse_split", Symbol: "A", NewSymbol: "B", OldRate: "25", NewRate: "1", ExDate: "2026-12-01"},
		},
		{
			"unit_splits", `"old_symbol":"AU","old_cusip":"1","old_rate":1,"new_symbol":"A","new_cusip":"2","new_rate":0.9999999999999999,` +
				`"alternate_symbol":"AW","alternate_cusip":"3","alternate_rate":0.25,"effective_date":"2026-12-01","payable_date":"2026-12-03"`,
			rewards.Terms{Type: "unit_split", Symbol: "AU", NewSymbol: "A", OldRate: "1", NewRate: "0.9999999999999999", ExDate: "2026-12-01", PayDate: "2026-12-03"},
		},
		{
			"stock_dividends", `"symbol":"A","cusip":"1","rate":0.050000000000000003,"ex_date":"2026-12-01","payable_date":"2026-12-09"`,
			rewards.Terms{Type: "stock_dividend", Symbol: "A", Rate: "0.050000000000000003", ExDate: "2026-12-01", PayDate: "2026-12-09"},
		},
		{
			"cash_dividends", `"symbol":"A","cusip":"1","rate":0.000338,"special":true,"foreign":false,"ex_date":"2026-12-01","payable_date":"2026-12-09","sub_type":"interest","currency":""`,
			rewards.Terms{Type: "cash_dividend", Symbol: "A", Rate: "0.000338", ExDate: "2026-12-01", PayDate: "2026-12-09"},
		},
		{
			"spin_offs", `"source_symbol":"A","source_cusip":"1","source_rate":1.0,"new_symbol":"B","new_cusip":"2","new_rate":0.333333333333333333,"ex_date":"2026-12-01","payable_date":"2026-11-30"`,
			rewards.Terms{Type: "spin_off", Symbol: "A", NewSymbol: "B", OldRate: "1.0", NewRate: "0.333333333333333333", ExDate: "2026-12-01", PayDate: "2026-11-30"},
		},
		{
			"cash_mergers", `"acquiree_symbol":"A","acquiree_cusip":"1","acquirer_symbol":"","rate":0.583043,"effective_date":"2026-12-01","payable_date":"2026-12-02"`,
			rewards.Terms{Type: "cash_merger", Symbol: "A", Rate: "0.583043", ExDate: "2026-12-01", PayDate: "2026-12-02"},
		},
		{
			"stock_mergers", `"acquiree_symbol":"A","acquiree_cusip":"1","acquiree_rate":1,"acquirer_symbol":"B","acquirer_cusip":"2","acquirer_rate":0.10,"effective_date":"2026-12-01"`,
			rewards.Terms{Type: "stock_merger", Symbol: "A", NewSymbol: "B", OldRate: "1", NewRate: "0.10", ExDate: "2026-12-01"},
		},
		{
			"stock_and_cash_mergers", `"acquiree_symbol":"A","acquiree_cusip":"1","acquiree_rate":1,"acquirer_symbol":"B","acquirer_cusip":"2","acquirer_rate":0.8,"cash_rate":21.00,"effective_date":"2026-12-01"`,
			rewards.Terms{Type: "stock_and_cash_merger", Symbol: "A", NewSymbol: "B", OldRate: "1", NewRate: "0.8", Rate: "21.00", ExDate: "2026-12-01"},
		},
		{
			"name_changes", `"old_symbol":"A","old_cusip":"1","new_symbol":"B","new_cusip":"2"`,
			rewards.Terms{Type: "name_change", Symbol: "A", NewSymbol: "B", ExDate: "2026-12-02"},
		},
		{
			"worthless_removals", `"symbol":"A","cusip":"1"`,
			rewards.Terms{Type: "worthless_removal", Symbol: "A", ExDate: "2026-12-02"},
		},
		{
			"redemptions", `"symbol":"A","cusip":"1","rate":10.05,"payable_date":"2026-12-03"`,
			rewards.Terms{Type: "redemption", Symbol: "A", Rate: "10.05", ExDate: "2026-12-02", PayDate: "2026-12-03"},
		},
		{
			"rights_distributions", `"source_symbol":"A","source_cusip":"1","new_symbol":"A.RT","new_cusip":"2","rate":1,"ex_date":"2026-12-01","payable_date":"2026-12-05","expiration_date":"2026-12-24"`,
			rewards.Terms{Type: "rights_distribution", Symbol: "A", NewSymbol: "A.RT", Rate: "1", ExDate: "2026-12-01", PayDate: "2026-12-05"},
		},
		{
			"partial_calls", `"symbol":"A","price":100.5,"dividend_rate":1.5`,
			rewards.Terms{Type: "partial_call", Symbol: "A", ExDate: "2026-12-02"},
		},
		{
			"reorganizations", `"symbol":"A","cusip":"1","effective_date":"2026-12-01","cash_rate":0.5,"stock_movements":[{"symbol":"B","cusip":"2","new_rate":0.30,"source_rate":1}]`,
			rewards.Terms{Type: "reorganization", Symbol: "A", NewSymbol: "B", OldRate: "1", NewRate: "0.30", Rate: "0.5", ExDate: "2026-12-01"},
		},
		{
			"reorganizations", `"symbol":"A","cusip":"1","effective_date":"2026-12-01","stock_movements":[{"symbol":"B","new_rate":1,"source_rate":1},{"symbol":"C","new_rate":1,"source_rate":1}]`,
			rewards.Terms{Type: "reorganization", Symbol: "A", ExDate: "2026-12-01"},
		},
		{
			"reorganizations", `"symbol":"A","effective_date":"2026-12-01","cash_rate":"x","stock_movements":"B"`,
			rewards.Terms{Type: "reorganization", Symbol: "A", Rate: "?", ExDate: "2026-12-01"},
		},
	} {
		body := `{"corporate_actions":{"` + c.group + `":[{` + dates + "," + c.members + `}]}}`
		list, _, err := serveBody(t, http.StatusOK, body).Announcements(t.Context(), "2026-11-22", "2027-02-20", "")
		if err != nil || len(list) != 1 {
			t.Errorf("%s: %+v, %v", c.group, list, err)
			continue
		}
		if diff := cmp.Diff(c.want, list[0].Terms); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.group, diff)
		}
	}
}

// Another order of members is no revision; other digits are.
func TestAnnouncementBodies(t *testing.T) {
	t.Parallel()
	body := func(members string) string {
		t.Helper()
		c := serveBody(t, http.StatusOK, `{"corporate_actions":{"forward_splits":[{`+members+`}]}}`)
		list, _, err := c.Announcements(t.Context(), "2026-11-22", "2027-02-20", "")
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[0].Body
	}
	one, two := body(`"id":"a","new_rate":4.0`), body(`"new_rate":4.0,"id":"a"`)
	if three := body(`"id":"a","new_rate":4`); one != two || one == three {
		t.Errorf("bodies %s, %s, %s", one, two, three)
	}
}

func TestAnnouncementsThatFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   rewards.BrokerErrorKind
	}{
		{"not offered", 404, "404 page not found", rewards.BrokerNotFound},
		{"not in the subscription", 403, `{"message":"forbidden."}`, rewards.BrokerNotFound},
		{"a proxy's page", 403, "\n<html>forbidden</html>", rewards.BrokerUnknown},
		{"away", 503, "", rewards.BrokerUnknown},
		{"too many requests", 429, `{"message":"rate limit exceeded"}`, rewards.BrokerUnknown},
		{"no JSON", 200, "<html>", rewards.BrokerUnknown},
		{"no list", 200, `{}`, rewards.BrokerUnknown},
		{"no id", 200, `{"corporate_actions":{"forward_splits":[{"symbol":"A"}]}}`, rewards.BrokerUnknown},
		{"a control character in an id", 200, `{"corporate_actions":{"forward_splits":[{"id":"a\u001b[2J"}]}}`, rewards.BrokerUnknown},
		{"a page that is its own next page", 200, `{"corporate_actions":{},"next_page_token":"same"}`, rewards.BrokerUnknown},
	} {
		_, _, err := serveBody(t, c.status, c.body).Announcements(t.Context(), "2026-11-22", "2027-02-20", "same")
		if err == nil || rewards.BrokerKindOf(err) != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	got, err := serveBody(t, 200, `[{"date":"2026-11-27","open":"09:30"},{"date":"2026-11-25"}]`).
		Sessions(t.Context(), "2026-11-20", "2026-11-30")
	if diff := cmp.Diff([]rewards.Date{"2026-11-25", "2026-11-27"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := serveBody(t, 200, `[{"date":"Friday"}]`).Sessions(t.Context(), "2026-11-20", "2026-11-30"); err == nil {
		t.Error("a day that is no date was read")
	}
}
