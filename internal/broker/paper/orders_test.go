package paper_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/paper"
)

func TestListing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	for i, symbol := range []string{"AAPL", "F", "BRK.B", "AAPL", "F", "BRK.B"} {
		d.advance(time.Second)
		d.place(t, fmt.Sprint(i), symbol, "buy", `"notional":"100"`)
	}
	// Five are filled; the last one is open.
	d.place(t, "6", "F", "sell", `"qty":"1"`) // in the same instant: a microsecond later
	third := url.QueryEscape(monday().Add(3 * time.Second).Format(time.RFC3339Nano))
	for _, c := range []struct{ query, want string }{
		{"", "6 5"},
		{"status=open&direction=asc", "5 6"},
		{"status=closed", "4 3 2 1 0"},
		{"status=closed&direction=asc&limit=2", "0 1"},
		{"status=all&direction=asc", "0 1 2 3 4 5 6"},
		{"status=all&limit=3", "6 5 4"},
		{"status=all&symbols=AAPL,BRK.B&direction=asc", "0 2 3 5"},
		{"status=all&symbols=aapl", "3 0"},
		{"status=all&symbols=B", ""},
		{"status=all&side=sell", "6"},
		{"status=all&direction=asc&after=" + third, "3 4 5 6"},
		{"status=all&direction=asc&until=" + third, "0 1"},
		{"status=all&direction=asc&after=2026-03-16T14:00:02.9999999Z", "2 3 4 5 6"},
		{"status=all&direction=asc&until=2026-03-16T14:00:03.0000001Z", "0 1 2"},
		{"status=all&after=2026-03-17", ""},
		{"status=all&until=2026-03-17&limit=1&nested=true", "6"},
	} {
		var got []string
		for _, o := range get[[]order](t, d, "/v2/orders?"+c.query) {
			got = append(got, o.ClientOrderID)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.query, diff)
		}
	}
	for _, query := range []string{"status=new", "limit=0", "limit=501", "limit=x", "direction=up", "after=now", "until=x"} {
		if got := d.do(t, http.MethodGet, "/v2/orders?"+query, ""); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
}

func TestLookUp(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	for path, want := range map[string]string{
		"/v2/orders/x": `404 {"code":40410000,"message":"order not found for x"}`,
		"/v2/orders:by_client_order_id?client_order_id=y": `404 {"code":40410000,"message":"order not found for y"}`,
		"/v2/orders:by_client_order_id":                   `422 {"code":42210000,"message":"client_order_id is required"}`,
		"/v2/positions/AAPL":                              `404 {"code":40410000,"message":"position does not exist"}`,
		"/v2/assets/nope":                                 `404 {"code":40410000,"message":"asset not found for NOPE"}`,
		"/v2/stocks/NOPE/snapshot":                        `404 {"message":"no data for NOPE"}`,
		"/v2/stocks/snapshots":                            `400 {"message":"symbols is required"}`,
		"/v2/nothing":                                     `404 {"message":"endpoint not found."}`,
		"/v2/positions":                                   `200 []`,
		"/v2/orders":                                      `200 []`,
		"/v2/assets?status=inactive":                      `200 []`,
		"/v2/assets?asset_class=crypto":                   `200 []`,
		"/v2/stocks/snapshots?symbols=NOPE":               `200 {}`,
	} {
		r := d.do(t, http.MethodGet, path, "")
		if got := fmt.Sprint(r.status, " ", r.body); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestClockSetBack places orders while the clock goes backwards: each still gets
// filled a moment after it was sent.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	d.bought(t, "a", "AAPL", "10")
	d.advance(-time.Hour)
	d.bought(t, "b", "AAPL", "10")
	d.advance(-100 * time.Millisecond)
	d.bought(t, "c", "AAPL", "10")
}
