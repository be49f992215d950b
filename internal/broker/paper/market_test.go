package paper_test

import (
	"testing"
	"time"

	"stockrewards/internal/broker/paper"
)

// TestMovedPrice: a price that was set lasts, wanders on from there, and survives a restart.
// A split divides it as any price.
func TestMovedPrice(t *testing.T) {
	t.Parallel()
	o := paper.Options{Control: true}
	d := newFileDesk(t, o)
	d.buy("before", "F", "100")
	for _, set := range []string{"123.45", "0.5", "40"} {
		got := send[map[string]string](d, "PUT", "/control/prices/F", `{"price":"`+set+`"}`)
		if at, p := d.lastTrade("F"); got["price"] != set || p != price(set) || !at.Equal(d.now()) {
			t.Errorf("set to %s: answer %v, the last trade is %s at %v", set, got, p, at)
		}
	}
	d.advance(time.Minute)
	d.place("after", "F", "buy", notional("10"))
	d.advance(time.Second)
	if p := price(*d.find("after").FilledAvgPrice); !near(int64(p), int64(price("40")), 2) {
		t.Errorf("filled at %s", p)
	}
	d.reopen(o)
	d.announce(split("forward", "F", "1", "2", "2026-03-17"))
	d.set(newYork("2026-03-17 10:00:00"))
	if _, p := d.lastTrade("F"); !near(int64(p), int64(price("20")), 5) {
		t.Errorf("after the split the price is %s", p)
	}
	if _, p := d.lastTrade("NVDA"); !near(int64(p), int64(180*dollar), 50) {
		t.Errorf("another stock's price is %s", p)
	}
}

func TestMovePriceRefuses(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true})
	d.announce(`{"type":"worthless_removal","symbol":"AAPL","process_date":"2026-03-16"}`)
	d.announce(split("forward", "NVDA", "1", "2", "2026-03-17"))
	d.set(newYork("2026-03-16 21:00:00"))
	for _, c := range []struct {
		symbol, body string
		status       int
		want         string
	}{
		{"NOPE", `{"price":"1"}`, 404, "not found"},
		{"AAPL", `{"price":"1"}`, 409, "no longer listed"},
		{"NVDA", `{"price":"1"}`, 409, "not traded until"},
		{"F", `{"price":"0"}`, 400, "price must be"},
		{"F", `{"price":"-1"}`, 400, "price must be"},
		{"F", `{"price":"much"}`, 400, "price must be"},
		{"F", `{"price":"1000000000.01"}`, 400, "price must be"},
		{"F", `{}`, 400, "price must be"},
		{"F", `{"cost":"1"}`, 400, "the body must be"},
	} {
		d.expect("PUT", "/control/prices/"+c.symbol, c.body, c.status, c.want)
	}
}

// market sets whether the market is open.
func (d *desk) market(open string, want bool) {
	d.t.Helper()
	got := send[testClock](d, "PUT", "/control/market", `{"open":`+open+`}`)
	reported := get[map[string]any](d, "/v2/clock")["is_open"]
	if got.IsOpen != want || reported != want {
		d.t.Errorf("open %s: %+v, reported open %v", open, got, reported)
	}
}

// TestClosedMarket: orders wait while the market is closed by hand. Opened again, it fills
// them; else it opens with the next session.
func TestClosedMarket(t *testing.T) {
	t.Parallel()
	for _, hours := range []paper.Hours{paper.AlwaysOpen, paper.USEquities} {
		d := newDesk(t, paper.Options{Control: true, Hours: hours})
		d.place("early", "F", "buy", quantity("1"))
		d.market("false", false)
		d.market("false", false)
		closed := d.now()
		d.place("late", "F", "buy", quantity("1"))
		d.advance(time.Hour)
		if early, late := d.find("early"), d.find("late"); early.Status != "new" || late.Status != "accepted" {
			t.Errorf("while closed the orders are %s and %s", early.Status, late.Status)
		}
		if at, _ := d.lastTrade("F"); at.After(closed) {
			t.Errorf("while closed the last trade is of %v", at)
		}
		d.market("true", true)
		d.market("true", true)
		d.advance(time.Second)
		if early, late := d.find("early"), d.find("late"); early.Status != "filled" || late.Status != "filled" {
			t.Errorf("after the opening the orders are %s and %s", early.Status, late.Status)
		}
		d.market("false", false)
		next := instant(get[map[string]any](d, "/v2/clock")["next_open"].(string)) //nolint:forcetypeassert // a test
		d.set(next.Add(-time.Second))
		if get[testClock](d, "/control/clock").IsOpen {
			t.Errorf("open before %v", next)
		}
		if hours == paper.USEquities {
			d.expect("PUT", "/control/market", `{"open":true}`, 409, "closed by its hours")
		}
		d.set(next)
		if !get[testClock](d, "/control/clock").IsOpen {
			t.Errorf("closed at %v", next)
		}
		d.expect("PUT", "/control/market", `{}`, 400, "open is required")
	}
}
