package paper_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/paper"
)

type day struct {
	Date           string `json:"date"`
	Open           string `json:"open"`
	Close          string `json:"close"`
	SettlementDate string `json:"settlement_date"`
}

func TestCalendar(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Hours: paper.USEquities})
	got := get[[]day](d, "/v2/calendar?start=2026-04-02&end=2026-04-06")
	want := []day{
		{Date: "2026-04-02", Open: "09:30", Close: "16:00", SettlementDate: "2026-04-06"},
		{Date: "2026-04-06", Open: "09:30", Close: "16:00", SettlementDate: "2026-04-07"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calendar (-want +got):\n%s", diff)
	}
	if all := get[[]day](d, "/v2/calendar"); all[0].Date != "1970-01-02" || all[len(all)-1].Date != "2029-12-31" {
		t.Errorf("the default calendar is from %s to %s", all[0].Date, all[len(all)-1].Date)
	}
	d.expect("GET", "/v2/calendar?start=1900-01-01&end=2026-01-01", "", 422, "limited to 100 years")
}

type clock struct {
	Timestamp string `json:"timestamp"`
	IsOpen    bool   `json:"is_open"`
	NextOpen  string `json:"next_open"`
	NextClose string `json:"next_close"`
}

func TestClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hours paper.Hours
		now   string
		want  clock
	}{
		{paper.AlwaysOpen, "2026-03-15T03:04:05.000006Z", clock{"2026-03-15T03:04:05.000006Z", true, "2026-03-16T00:00:00Z", "2026-03-16T00:00:00Z"}},
		{paper.AlwaysOpen, "2026-03-16T00:00:00Z", clock{"2026-03-16T00:00:00Z", true, "2026-03-17T00:00:00Z", "2026-03-17T00:00:00Z"}},
		{paper.USEquities, "2026-03-16T13:29:59.999999Z", clock{"2026-03-16T09:29:59.999999-04:00", false, "2026-03-16T09:30:00-04:00", "2026-03-16T16:00:00-04:00"}},
		{paper.USEquities, "2026-03-16T13:30:00Z", clock{"2026-03-16T09:30:00-04:00", true, "2026-03-17T09:30:00-04:00", "2026-03-16T16:00:00-04:00"}},
		{paper.USEquities, "2026-03-16T19:59:59Z", clock{"2026-03-16T15:59:59-04:00", true, "2026-03-17T09:30:00-04:00", "2026-03-16T16:00:00-04:00"}},
		{paper.USEquities, "2026-03-16T20:00:00Z", clock{"2026-03-16T16:00:00-04:00", false, "2026-03-17T09:30:00-04:00", "2026-03-17T16:00:00-04:00"}},
		{paper.USEquities, "2026-03-06T21:00:00Z", clock{"2026-03-06T16:00:00-05:00", false, "2026-03-09T09:30:00-04:00", "2026-03-09T16:00:00-04:00"}}, // before daylight saving time begins
		{paper.USEquities, "2026-11-27T17:00:00Z", clock{"2026-11-27T12:00:00-05:00", true, "2026-11-30T09:30:00-05:00", "2026-11-27T13:00:00-05:00"}},  // a half day
		{paper.USEquities, "2026-12-25T17:00:00Z", clock{"2026-12-25T12:00:00-05:00", false, "2026-12-28T09:30:00-05:00", "2026-12-28T16:00:00-05:00"}},
	} {
		d := newDesk(t, paper.Options{Hours: c.hours})
		d.set(instant(c.now))
		if diff := cmp.Diff(c.want, get[clock](d, "/v2/clock")); diff != "" {
			t.Errorf("hours %d at %s (-want +got):\n%s", c.hours, c.now, diff)
		}
	}
}

// TestOvernight submits an order on a Friday evening: it waits for Monday's open.
func TestOvernight(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Hours: paper.USEquities})
	d.set(instant("2026-03-13T22:00:00Z"))
	placed := d.place("a", "AAPL", "buy", notional("100"))
	d.set(instant("2026-03-16T13:29:59Z"))
	if o := d.find("a"); placed.Status != "accepted" || o.Status != "accepted" {
		t.Errorf("over the weekend the order was %s and %s, want accepted", placed.Status, o.Status)
	}
	d.set(instant("2026-03-16T13:30:00Z"))
	if o := d.find("a"); o.Status != "pending_new" {
		t.Errorf("at the open the order is %s", o.Status)
	}
	d.advance(time.Second)
	o := d.find("a")
	if o.Status != "filled" || !strings.HasPrefix(*o.FilledAt, "2026-03-16T13:30:00.") {
		t.Errorf("after the open the order is %+v", o)
	}
	if !instant(o.SubmittedAt).Equal(instant("2026-03-13T22:00:00Z")) {
		t.Errorf("it was submitted at %s", o.SubmittedAt)
	}
}

// TestExpiry submits an order that cannot be filled before the close.
func TestExpiry(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Hours: paper.USEquities})
	closing := instant("2026-03-16T20:00:00Z")
	d.set(closing.Add(-80 * time.Millisecond))
	d.place("a", "AAPL", "buy", notional("100"))
	d.set(closing.Add(-time.Microsecond))
	if o := d.find("a"); o.Status != "new" {
		t.Errorf("before the close the order is %s", o.Status)
	}
	d.set(closing)
	o := d.find("a")
	if o.Status != "expired" || o.ExpiredAt == nil || !instant(*o.ExpiredAt).Equal(closing) || o.FilledQty != "0" {
		t.Errorf("at the close the order is %+v", o)
	}
	d.checkEnded()
	always := newDesk(t, paper.Options{})
	always.set(instant("2026-03-16T23:59:59.999Z"))
	always.buy("a", "AAPL", "100") // across the end of a session
}

func TestSnapshotTimes(t *testing.T) {
	t.Parallel()
	type part struct {
		At string `json:"t"`
	}
	for _, c := range []struct {
		hours                            paper.Hours
		now, trade, minute, daily, prior string
	}{
		{paper.USEquities, "2026-03-16T14:00:30.7Z", "2026-03-16T14:00:30Z", "2026-03-16T14:00:00Z", "2026-03-16T04:00:00Z", "2026-03-13T04:00:00Z"},
		{paper.USEquities, "2026-03-16T13:00:00Z", "2026-03-13T20:00:00Z", "2026-03-13T19:59:00Z", "2026-03-13T04:00:00Z", "2026-03-12T04:00:00Z"},
		{paper.USEquities, "2026-03-15T13:00:00Z", "2026-03-13T20:00:00Z", "2026-03-13T19:59:00Z", "2026-03-13T04:00:00Z", "2026-03-12T04:00:00Z"},
		{paper.AlwaysOpen, "2026-03-15T13:00:00.5Z", "2026-03-15T13:00:00Z", "2026-03-15T13:00:00Z", "2026-03-15T00:00:00Z", "2026-03-14T00:00:00Z"},
		{paper.AlwaysOpen, "2026-03-15T00:00:00Z", "2026-03-15T00:00:00Z", "2026-03-15T00:00:00Z", "2026-03-15T00:00:00Z", "2026-03-14T00:00:00Z"},
	} {
		d := newDesk(t, paper.Options{Hours: c.hours})
		d.set(instant(c.now))
		s := get[map[string]map[string]part](d, "/v2/stocks/snapshots?symbols=AAPL")["AAPL"]
		want := []string{c.trade, c.minute, c.daily, c.prior}
		got := []string{s["latestTrade"].At, s["minuteBar"].At, s["dailyBar"].At, s["prevDailyBar"].At}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("hours %d at %s (-want +got):\n%s", c.hours, c.now, diff)
		}
	}
}
