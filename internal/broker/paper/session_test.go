package paper_test

import (
	"fmt"
	"net/http"
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

// TestHolidays compares the calendar with the closings that the exchange has
// published.
func TestHolidays(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Hours: paper.USEquities})
	for _, c := range []struct {
		year           int
		closed, halves string
	}{
		{2021, "01-01 01-18 02-15 04-02 05-31 07-05 09-06 11-25 12-24", "11-26"},
		{2022, "01-17 02-21 04-15 05-30 06-20 07-04 09-05 11-24 12-26", "11-25"},
		{2023, "01-02 01-16 02-20 04-07 05-29 06-19 07-04 09-04 11-23 12-25", "07-03 11-24"},
		{2024, "01-01 01-15 02-19 03-29 05-27 06-19 07-04 09-02 11-28 12-25", "07-03 11-29 12-24"},
		{2025, "01-01 01-20 02-17 04-18 05-26 06-19 07-04 09-01 11-27 12-25", "07-03 11-28 12-24"},
		{2026, "01-01 01-19 02-16 04-03 05-25 06-19 07-03 09-07 11-26 12-25", "11-27 12-24"},
		{2027, "01-01 01-18 02-15 03-26 05-31 06-18 07-05 09-06 11-25 12-24", "11-26"},
		{2028, "01-17 02-21 04-14 05-29 06-19 07-04 09-04 11-23 12-25", "07-03 11-24"},
	} {
		days := get[[]day](t, d, fmt.Sprintf("/v2/calendar?start=%d-01-01&end=%d-12-31", c.year, c.year))
		open := make(map[string]string)
		var halves, closed []string
		for _, day := range days {
			open[day.Date] = day.Close
			if day.Open != "09:30" || day.Close != "16:00" && day.Close != "13:00" {
				t.Errorf("%+v", day)
			}
			if day.Close == "13:00" {
				halves = append(halves, day.Date[5:])
			}
		}
		for at := time.Date(c.year, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() == c.year; at = at.AddDate(0, 0, 1) {
			weekend := at.Weekday() == time.Saturday || at.Weekday() == time.Sunday
			if date := at.Format(time.DateOnly); open[date] == "" && !weekend {
				closed = append(closed, date[5:])
			} else if open[date] != "" && weekend {
				t.Errorf("open on the weekend of %s", date)
			}
		}
		if diff := cmp.Diff(c.closed, strings.Join(closed, " ")); diff != "" {
			t.Errorf("%d closed (-want +got):\n%s", c.year, diff)
		}
		if diff := cmp.Diff(c.halves, strings.Join(halves, " ")); diff != "" {
			t.Errorf("%d half days (-want +got):\n%s", c.year, diff)
		}
	}
}

func TestCalendar(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Hours: paper.USEquities})
	got := get[[]day](t, d, "/v2/calendar?start=2026-04-02&end=2026-04-06")
	want := []day{
		{Date: "2026-04-02", Open: "09:30", Close: "16:00", SettlementDate: "2026-04-06"},
		{Date: "2026-04-06", Open: "09:30", Close: "16:00", SettlementDate: "2026-04-07"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calendar (-want +got):\n%s", diff)
	}
	if all := get[[]day](t, d, "/v2/calendar"); all[0].Date != "1970-01-02" || all[len(all)-1].Date != "2029-12-31" {
		t.Errorf("the whole calendar goes from %s to %s", all[0].Date, all[len(all)-1].Date)
	}
	if got := d.do(t, http.MethodGet, "/v2/calendar?start=1900-01-01&end=2026-01-01", ""); got.status != 422 {
		t.Errorf("a calendar without end: %d", got.status)
	}
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
		{paper.USEquities, "2026-03-06T21:00:00Z", clock{"2026-03-06T16:00:00-05:00", false, "2026-03-09T09:30:00-04:00", "2026-03-09T16:00:00-04:00"}}, // over the change of the clocks
		{paper.USEquities, "2026-11-27T17:00:00Z", clock{"2026-11-27T12:00:00-05:00", true, "2026-11-30T09:30:00-05:00", "2026-11-27T13:00:00-05:00"}},  // a half day
		{paper.USEquities, "2026-12-25T17:00:00Z", clock{"2026-12-25T12:00:00-05:00", false, "2026-12-28T09:30:00-05:00", "2026-12-28T16:00:00-05:00"}},
	} {
		d := newDesk(t, paper.Options{Hours: c.hours})
		d.set(instant(t, c.now))
		if diff := cmp.Diff(c.want, get[clock](t, d, "/v2/clock")); diff != "" {
			t.Errorf("%s at %s (-want +got):\n%s", c.hours, c.now, diff)
		}
	}
}

// TestOvernight sends an order on a Friday evening: it waits for Monday's open.
func TestOvernight(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Hours: paper.USEquities})
	d.set(instant(t, "2026-03-13T22:00:00Z"))
	placed := d.place(t, "a", "AAPL", "buy", `"notional":"100"`)
	d.set(instant(t, "2026-03-16T13:29:59Z"))
	if o := d.find(t, "a"); placed.Status != "accepted" || o.Status != "accepted" {
		t.Errorf("over the weekend the order was %s and %s, want accepted", placed.Status, o.Status)
	}
	d.set(instant(t, "2026-03-16T13:30:00Z"))
	if o := d.find(t, "a"); o.Status != "pending_new" {
		t.Errorf("at the open the order is %s", o.Status)
	}
	d.advance(time.Second)
	o := d.find(t, "a")
	if o.Status != "filled" || !strings.HasPrefix(*o.FilledAt, "2026-03-16T13:30:00.") {
		t.Errorf("after the open the order is %+v", o)
	}
	if !instant(t, o.SubmittedAt).Equal(instant(t, "2026-03-13T22:00:00Z")) {
		t.Errorf("it was submitted at %s", o.SubmittedAt)
	}
}

// TestExpiry sends orders just before the close: none can be filled any more.
func TestExpiry(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Hours: paper.USEquities})
	closing := instant(t, "2026-03-16T20:00:00Z")
	d.set(closing.Add(-80 * time.Millisecond))
	d.place(t, "a", "AAPL", "buy", `"notional":"100"`)
	d.set(closing.Add(-time.Microsecond))
	if o := d.find(t, "a"); o.Status != "new" {
		t.Errorf("before the close the order is %s", o.Status)
	}
	d.set(closing)
	o := d.find(t, "a")
	if o.Status != "expired" || o.ExpiredAt == nil || !instant(t, *o.ExpiredAt).Equal(closing) || o.FilledQty != "0" {
		t.Errorf("at the close the order is %+v", o)
	}
	if a := get[account](t, d, "/v2/account"); a.BuyingPower != "1000000000000" {
		t.Errorf("an expired order holds money: %+v", a)
	}
	always := newDesk(t, paper.Options{})
	always.set(instant(t, "2026-03-16T23:59:59.999Z"))
	always.bought(t, "a", "AAPL", "100") // no session's end matters
}

type snapshot struct {
	LatestTrade struct {
		T string `json:"t"`
	} `json:"latestTrade"`
	DailyBar struct {
		T string `json:"t"`
	} `json:"dailyBar"`
	PrevDailyBar struct {
		T string `json:"t"`
	} `json:"prevDailyBar"`
	MinuteBar struct {
		T string `json:"t"`
	} `json:"minuteBar"`
}

func TestSnapshotTimes(t *testing.T) {
	t.Parallel()
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
		d.set(instant(t, c.now))
		s := get[map[string]snapshot](t, d, "/v2/stocks/snapshots?symbols=AAPL")["AAPL"]
		want := []string{c.trade, c.minute, c.daily, c.prior}
		got := []string{s.LatestTrade.T, s.MinuteBar.T, s.DailyBar.T, s.PrevDailyBar.T}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s at %s (-want +got):\n%s", c.hours, c.now, diff)
		}
	}
}
