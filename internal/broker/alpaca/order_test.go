package alpaca_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
	"stockrewards/test/world"
)

// member replaces the value of a member of the good order.
func member(name, value string) string {
	before, rest, _ := strings.Cut(goodOrder, `"`+name+`":`)
	_, after, _ := strings.Cut(rest, ",")
	return before + `"` + name + `":` + value + "," + after
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ order, problem string }{
		{goodOrder, ""},
		{member("notional", "null"), ""}, // an order by quantity
		{member("notional", "25.5"), ""},
		{member("notional", `"25.5000001"`), "notional: too many decimals"},
		{member("notional", `"-25.5"`), "notional: must not be negative"},
		{member("notional", "true"), "notional: not a decimal number"},
		{member("notional", `["1"]`), "notional: not a decimal number"},
		{member("filled_qty", "0.1"), ""},
		{member("filled_qty", `"1e-9"`), ""},
		{member("filled_qty", `"0.1234567891"`), "filled_qty: too many decimals"},
		{member("filled_qty", `"9999999999999"`), "filled_qty: too large"},
		{member("filled_qty", `"-1"`), "filled_qty: must not be negative"},
		{member("filled_qty", "null"), "filled_qty: missing value"},
		{member("filled_qty", `""`), "filled_qty: missing value"},
		{member("filled_qty", `"NaN"`), "filled_qty: not a decimal number"},
		{member("filled_avg_price", "null"), ""},
		{member("filled_avg_price", `"-255"`), "filled_avg_price: must not be negative"},
		{member("filled_avg_price", `"1e308"`), "filled_avg_price: too large"},
		{member("filled_avg_price", `"x"`), "filled_avg_price: not a decimal number"},
		{member("submitted_at", `"yesterday"`), "submitted_at: not a time"},
		{member("submitted_at", "null"), ""},
		{member("filled_at", `"2026-13-01T00:00:00Z"`), "filled_at: not a time"},
	} {
		t.Run(c.order, func(t *testing.T) {
			t.Parallel()
			one, err := serveBody(t, 200, c.order).OrderByClientID(t.Context(), "sr-1")
			if err != nil || one.Problem != c.problem {
				t.Errorf("OrderByClientID has the problem %q (%v), want %q", one.Problem, err, c.problem)
			}
		})
	}
}

func TestListKeepsTheUnreadable(t *testing.T) {
	t.Parallel()
	client := serveBody(t, 200, `[`+goodOrder+`,7,{"id":"x"},`+
		strings.Replace(member("filled_qty", `"?"`), "61e6", "71e6", 1)+`]`)
	got, err := client.Orders(t.Context(), time.Time{}, nil)
	world.Check(t, err)
	if len(got) != 4 || got[0].Problem != "" || got[3].Problem != "filled_qty: not a decimal number" {
		t.Errorf("Orders = %+v", got)
	}
	for _, o := range got[1:3] {
		if o.Problem == "" {
			t.Errorf("an unreadable order has no problem: %+v", o)
		}
	}
}

// An order with a string that is no Unicode, or with a member twice, hides no other order. Its client order id is
// known, because it may have our prefix.
func TestAnOddOrderIsAloneInTheList(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ order, clientID string }{
		"no unicode":     {member("client_order_id", `"other-\ud800-program"`), "other- -program"},
		"raw bytes":      {member("symbol", "\"\xff\""), "sr-1"},
		"a member twice": {member("side", `"buy","side":"sell"`), "sr-1"},
		"another type":   {member("status", `["filled"]`), "sr-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := serveBody(t, 200, "["+c.order+","+goodOrder+"]").Orders(t.Context(), time.Time{}, nil)
			world.Check(t, err)
			if len(got) != 2 || got[1].Problem != "" || got[1].Symbol != "AAPL" {
				t.Fatalf("Orders = %+v", got)
			}
			if got[0].Problem == "" || got[0].ClientOrderID != c.clientID || got[0].ID != "" {
				t.Errorf("the odd order is %+v", got[0])
			}
		})
	}
}

// exchange lists orders as the broker does. It keeps times in steps of its precision.
type exchange struct {
	times     []time.Time
	precision time.Duration
	requests  int
}

func (e *exchange) list(w http.ResponseWriter, r *http.Request) {
	e.requests++
	q := r.URL.Query()
	if q.Get("status") != "all" || q.Get("direction") != "asc" {
		http.Error(w, "unexpected", http.StatusTeapot)
		return
	}
	limit, _ := strconv.Atoi(q.Get("limit"))
	after, _ := time.Parse(time.RFC3339Nano, q.Get("after"))
	var list []string
	for i, at := range e.times {
		if at.After(after.Truncate(e.precision)) && len(list) < limit {
			list = append(list, fmt.Sprintf(`{"id":"id-%d","client_order_id":"sr-%d","symbol":"F","side":"buy",`+
				`"status":"new","notional":"1","filled_qty":"0","submitted_at":%q}`, i, i, at.Format(time.RFC3339Nano)))
		}
	}
	_, _ = io.WriteString(w, "["+strings.Join(list, ",")+"]")
}

func TestOrdersFollowsPages(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 16, 14, 0, 0, 0, time.UTC)
	spread := func(n int, at func(i int) time.Duration) []time.Time {
		times := make([]time.Time, n)
		for i := range times {
			times[i] = begin.Add(at(i))
		}
		return times
	}
	for _, c := range []struct {
		name      string
		times     []time.Time
		precision time.Duration
		requests  int
	}{
		{"none", nil, 1, 1},
		{"one short of a page", spread(499, func(i int) time.Duration { return time.Duration(i) * time.Second }), 1, 1},
		{"exactly a page", spread(500, func(i int) time.Duration { return time.Duration(i) * time.Second }), 1, 2},
		{"three pages", spread(1400, func(i int) time.Duration { return time.Duration(i) * time.Millisecond }), 1, 3},
		{"ties of 7", spread(1400, func(i int) time.Duration { return time.Duration(i/7) * time.Second }), 1, 3},
		{"ties of 400", spread(1400, func(i int) time.Duration { return time.Duration(i/400) * time.Second }), 1, 4},
		{"nanoseconds apart", spread(600, func(i int) time.Duration { return time.Duration(i) * 10 }), 1, 2},
		{"a broker that compares milliseconds", spread(1400, func(i int) time.Duration {
			return time.Duration(i) * 100 * time.Microsecond
		}), time.Millisecond, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := &exchange{times: c.times, precision: c.precision}
			got, err := serve(t, e.list).Orders(t.Context(), begin.Add(-time.Second), nil)
			world.Check(t, err)
			var ids, want []string
			for _, o := range got {
				ids = append(ids, o.ID)
			}
			for i := range c.times {
				want = append(want, fmt.Sprintf("id-%d", i))
			}
			if diff := cmp.Diff(want, ids); diff != "" {
				t.Errorf("orders (-want +got):\n%s", diff)
			}
			if e.requests != c.requests {
				t.Errorf("%d requests, want %d", e.requests, c.requests)
			}
		})
	}
}

func TestOrdersGivesUp(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 16, 14, 0, 0, 0, time.UTC)
	t.Run("a page of ties", func(t *testing.T) {
		t.Parallel()
		e := &exchange{times: slices.Repeat([]time.Time{begin}, 501)}
		_, err := serve(t, e.list).Orders(t.Context(), time.Time{}, nil)
		wantError(t, err, rewards.BrokerUnknown, "")
	})
	t.Run("too many pages", func(t *testing.T) {
		t.Parallel()
		e := &exchange{precision: 1}
		for i := range 2_000 {
			e.times = append(e.times, begin.Add(time.Duration(i)*time.Second))
		}
		client := serve(t, e.list)
		client.SetMaxPages(3)
		_, err := client.Orders(t.Context(), time.Time{}, nil)
		wantError(t, err, rewards.BrokerUnknown, "")
		if e.requests != 3 {
			t.Errorf("%d requests, want 3", e.requests)
		}
	})
	t.Run("no times", func(t *testing.T) {
		t.Parallel()
		client := serveBody(t, 200, "["+strings.Repeat(member("submitted_at", "null")+",", 499)+goodOrder+"]")
		_, err := client.Orders(t.Context(), time.Time{}, nil)
		wantError(t, err, rewards.BrokerUnknown, "")
	})
	for _, body := range []string{"", "null", "{}", "<html>", "[" + goodOrder} {
		t.Run("body "+body, func(t *testing.T) {
			t.Parallel()
			_, err := serveBody(t, 200, body).Orders(t.Context(), time.Time{}, nil)
			wantError(t, err, rewards.BrokerUnknown, "")
		})
	}
}
