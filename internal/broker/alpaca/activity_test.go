package alpaca_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/test/world"
)

// activities reads one page of activities.
func activities(t *testing.T, list ...string) ([]rewards.Activity, error) {
	t.Helper()
	page, _, err := serveBody(t, http.StatusOK, "["+strings.Join(list, ",")+"]").Activities(t.Context(), "", time.Time{}, "")
	return page, err
}

// TestActivities reads the activities of trading-api.json's examples, of corporate actions, and of a
// type that is not known yet.
func TestActivities(t *testing.T) {
	t.Parallel()
	got, err := activities(t,
		`{"activity_type":"FILL","cum_qty":"2.5","id":"20220202135509981::2d7be4ff","leaves_qty":"0","order_id":"b5abe576","order_status":"filled",
			"price":"174.783333333333","qty":"0.5","side":"buy","symbol":"AAPL","transaction_time":"2022-02-02T18:55:09.981482Z","type":"fill"}`,
		`{"activity_type":"FILL","cum_qty":"1.5","id":"20220204135509981::3d7b","previous_id":"2d7be4ff","order_id":"b5abe576","price":"174.78","qty":"1","side":"sell",
			"symbol":"AAPL","transaction_time":"2022-02-04T18:55:09Z","created_at":"2022-02-05T18:55:09Z","type":"trade_correct"}`,
		`{"activity_sub_type":"CDIV","activity_type":"DIV","created_at":"2021-05-10T14:01:04.650275Z","currency":"USD","date":"2019-08-01","group_id":"g1",
			"id":"20190801011955195::5f596936","net_amount":"1.0299999999","per_share_amount":"0.5100","qty":"2","status":"executed","symbol":"T"}`,
		`{"activity_type":"DIVNRA","date":"2019-08-01T00:00:00Z","id":"20190801011955195::6f","net_amount":-0.1500009,"status":"canceled","previous_id":"p"}`,
		`{"activity_sub_type":"RSPLIT","activity_type":"SPLIT","date":"2026-02-27","id":"20260227000000000::1","net_amount":"0","price":"7","qty":"-33","status":"executed","symbol":"XRPT"}`,
		`{"activity_type":"OF_TOMORROW","id":"20270101000000000::1","symbol":null,"qty":"","new":{"b":1,"a":[1.0]}}`,
	)
	world.Check(t, err)
	want := []rewards.Activity{
		{
			ID: "20220202135509981::2d7be4ff", Type: "FILL", SubType: "fill", OrderID: "b5abe576", Symbol: "AAPL", Qty: money.Share / 2, CumQty: 5 * money.Share / 2,
			Price: 174_783_333_333, CreatedAt: time.Date(2022, 2, 2, 18, 55, 9, 981482000, time.UTC),
		},
		{
			ID: "20220204135509981::3d7b", Type: "FILL", SubType: "trade_correct", Previous: "2d7be4ff", OrderID: "b5abe576", Symbol: "AAPL", Qty: -money.Share,
			CumQty: 3 * money.Share / 2, Price: 174_780_000_000, CreatedAt: time.Date(2022, 2, 4, 18, 55, 9, 0, time.UTC),
		},
		{
			ID: "20190801011955195::5f596936", Type: "DIV", SubType: "CDIV", Status: "executed", GroupID: "g1", Symbol: "T", Date: "2019-08-01", Qty: 2 * money.Share,
			Net: 1_029_999, PerShare: "0.5100", CreatedAt: time.Date(2021, 5, 10, 14, 1, 4, 650275000, time.UTC),
		},
		{ID: "20190801011955195::6f", Type: "DIVNRA", Status: "canceled", Previous: "p", Date: "2019-08-01", Net: -150_000},
		{
			ID: "20260227000000000::1", Type: "SPLIT", SubType: "RSPLIT", Status: "executed", Symbol: "XRPT", Date: "2026-02-27", Qty: -33 * money.Share,
			Price: 7_000_000_000,
		},
		{ID: "20270101000000000::1", Type: "OF_TOMORROW"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(rewards.Activity{}, "Body")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	body := `{"activity_type":"OF_TOMORROW","id":"20270101000000000::1","new":{"a":[1.0],"b":1},"qty":"","symbol":null}`
	if got[5].Body != body {
		t.Errorf("the body is %s, want %s", got[5].Body, body)
	}
}

// An activity that cannot be read is kept with its body. What cannot be read is zero.
func TestProblemsOfActivities(t *testing.T) {
	t.Parallel()
	const fill = `"activity_type":"FILL","order_id":"o","side":"buy","cum_qty":"1"`
	const booking = `"activity_type":"DIV"`
	for _, c := range []struct{ members, problem string }{
		{fill, ""},
		{fill + `,"qty":"0.1234567891"`, "qty: too many decimals"},
		{fill + `,"qty":"9999999999999"`, "qty: too large"},
		{fill + `,"qty":true`, "qty: not a decimal number"},
		{fill + `,"price":"-1"`, "price: must not be negative"},
		{fill + `,"transaction_time":"yesterday"`, "time: not a time"},
		{strings.Replace(fill, `"1"`, `"-1"`, 1), "cum_qty: must not be negative"},
		{strings.Replace(fill, `"1"`, `"0.0000000001"`, 1), "cum_qty: too many decimals"},
		{strings.Replace(fill, `"1"`, "null", 1), "cum_qty: missing value"},
		{strings.Replace(fill, `"o"`, "7", 1), "order_id: missing value"},
		{booking + `,"net_amount":"1e99"`, "net_amount: too large"},
		{booking + `,"net_amount":"a lot"`, "net_amount: not a decimal number"},
		{booking + `,"net_amount":"5","currency":"EUR"`, "currency: not USD"},
		{booking + `,"net_amount":{},"qty":[]`, "qty: not a decimal number"},
		{booking + `,"per_share_amount":"x"`, "per_share_amount: not a decimal number"},
		{booking + `,"date":"2026-02-30"`, "date: not a date"},
	} {
		got, err := activities(t, `{"id":"1",`+c.members+`}`)
		if err != nil || len(got) != 1 || got[0].Problem != c.problem || !strings.Contains(got[0].Body, `"id":"1"`) {
			t.Errorf("%s: %+v, %v; want the problem %q", c.members, got, err, c.problem)
			continue
		}
		want := rewards.Activity{ID: "1", Type: got[0].Type, OrderID: got[0].OrderID, CumQty: got[0].CumQty, Problem: c.problem}
		if strings.HasPrefix(c.problem, "cum_qty") {
			want.CumQty = 0
		}
		if diff := cmp.Diff(want, got[0], cmpopts.IgnoreFields(rewards.Activity{}, "Body")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.members, diff)
		}
	}
}

// The strings of an activity, which logs and alarms show, are short and printable.
func TestStringsOfAnActivityAreBounded(t *testing.T) {
	t.Parallel()
	long := `"\u001b[31m` + strings.Repeat("x", 5000) + `"`
	got, err := activities(t, `{"id":"1","activity_type":`+long+`,"activity_sub_type":`+long+`,"status":`+long+`,"group_id":`+long+
		`,"previous_id":`+long+`,"order_id":`+long+`,"symbol":`+long+`,"date":`+long+`,"per_share_amount":`+long+`}`)
	world.Check(t, err)
	a := got[0]
	for _, text := range []string{a.Type, a.SubType, a.Status, a.GroupID, a.Previous, a.OrderID, a.Symbol, string(a.Date), a.PerShare} {
		if len(text) > 200 || strings.Contains(text, "\x1b") {
			t.Errorf("%q is too long or not printable", text)
		}
	}
}

// feed lists activities as the broker does, in pages of a hundred.
type feed struct {
	count    int
	requests []string
}

func (f *feed) list(w http.ResponseWriter, r *http.Request) {
	f.requests = append(f.requests, r.URL.String())
	token := r.URL.Query().Get("page_token")
	var list []string
	for i := range f.count {
		if id := fmt.Sprintf("%017d::x", i); id > token && len(list) < 100 {
			list = append(list, `{"id":"`+id+`","activity_type":"FEE"}`)
		}
	}
	_, _ = io.WriteString(w, "["+strings.Join(list, ",")+"]")
}

func TestActivitiesFollowPages(t *testing.T) {
	t.Parallel()
	const path = "/v2/account/activities?"
	after := time.Date(2026, 12, 1, 9, 30, 0, 999_999_999, time.FixedZone("", -5*3600))
	for count, want := range map[int][]string{
		0:   {path + "direction=asc&page_size=100"},
		99:  {path + "direction=asc&page_size=100"},
		100: {path + "direction=asc&page_size=100", path + "direction=asc&page_size=100&page_token=00000000000000099%3A%3Ax"},
		250: {
			path + "after=2026-12-01T14%3A30%3A00Z&direction=asc&page_size=100",
			path + "after=2026-12-01T14%3A30%3A00Z&direction=asc&page_size=100&page_token=00000000000000099%3A%3Ax",
			path + "after=2026-12-01T14%3A30%3A00Z&direction=asc&page_size=100&page_token=00000000000000199%3A%3Ax",
		},
	} {
		f := &feed{count: count}
		client, since, token, read := serve(t, f.list), time.Time{}, "", 0
		if count == 250 {
			since = after
		}
		for page := 0; page == 0 || token != ""; page++ {
			list, next, err := client.Activities(t.Context(), "", since, token)
			world.Check(t, err)
			read, token = read+len(list), next
		}
		if diff := cmp.Diff(want, f.requests); diff != "" || read != count {
			t.Errorf("read %d of %d activities; requests (-want +got):\n%s", read, count, diff)
		}
	}
}

func TestActivitiesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const good = `{"id":"1","activity_type":"FEE"}`
	same := `{"id":"same","activity_type":"FEE"}`
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   rewards.BrokerErrorKind
	}{
		{"not offered", 404, "404 page not found", rewards.BrokerNotFound},
		{"unauthorized", 401, `{"message":"unauthorized"}`, rewards.BrokerWait},
		{"away", 503, "", rewards.BrokerUnknown},
		{"no list", 200, `{}`, rewards.BrokerUnknown},
		{"null", 200, `null`, rewards.BrokerUnknown},
		{"no object", 200, `[7]`, rewards.BrokerUnknown},
		{"no id", 200, `[` + good + `,{"activity_type":"FEE"}]`, rewards.BrokerUnknown},
		{"an id that is a number", 200, `[{"id":1}]`, rewards.BrokerUnknown},
		{"a control character in an id", 200, `[{"id":"a\u001b[2J"}]`, rewards.BrokerUnknown},
		{"a long id", 200, `[{"id":"` + strings.Repeat("1", 101) + `"}]`, rewards.BrokerUnknown},
		{"a member twice", 200, `[{"id":"1","id":"2"}]`, rewards.BrokerUnknown},
		{"more than a page may have", 200, `[{"id":"1","x":"` + strings.Repeat("x", 1<<20) + `"}]`, rewards.BrokerUnknown},
		{"a page that is its own next page", 200, `[` + strings.Repeat(good+",", 99) + same + `]`, rewards.BrokerUnknown},
	} {
		page, next, err := serveBody(t, c.status, c.body).Activities(t.Context(), "", time.Time{}, "same")
		if err == nil || rewards.BrokerKindOf(err) != c.want || len(page) != 0 || next != "" {
			t.Errorf("%s: %d activities, next %q, %v, want %s", c.name, len(page), next, err, c.want)
		}
	}
}
