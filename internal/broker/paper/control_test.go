package paper_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/paper"
)

type testClock struct {
	Now       string `json:"now"`
	Test      bool   `json:"test"`
	Pace      int64  `json:"pace"`
	IsOpen    bool   `json:"isOpen"`
	NextOpen  string `json:"nextOpen"`
	NextClose string `json:"nextClose"`
}

func TestTestClock(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Hours: paper.USEquities, Control: true})
	check := func(name string, got testClock, now string, test bool, pace int64, isOpen bool) {
		t.Helper()
		if got.Now != now || got.Test != test || got.Pace != pace || got.IsOpen != isOpen {
			t.Errorf("%s: %+v, want %s %v %d %v", name, got, now, test, pace, isOpen)
		}
	}
	set := func(method, path, body string) testClock {
		t.Helper()
		return decode[testClock](t, d.do(t, method, "/control/clock"+path, body))
	}
	check("at first", get[testClock](t, d, "/control/clock"), "2026-03-16T14:00:00Z", false, 1, true)
	check("set", set("PUT", "", `{"now":"2026-11-27T10:00:00-05:00"}`), "2026-11-27T15:00:00Z", true, 1, true)
	d.advance(time.Minute)
	check("it runs", get[testClock](t, d, "/control/clock"), "2026-11-27T15:01:00Z", true, 1, true)
	check("pace", set("PUT", "", `{"pace":60}`), "2026-11-27T15:01:00Z", true, 60, true)
	d.advance(time.Minute)
	check("it runs fast", get[testClock](t, d, "/control/clock"), "2026-11-27T16:01:00Z", true, 60, true)
	check("stopped", set("PUT", "", `{"pace":0}`), "2026-11-27T16:01:00Z", true, 0, true)
	d.advance(time.Hour)
	check("to the close of a half day", set("POST", "/advance", `{"to":"close"}`), "2026-11-27T18:00:00Z", true, 0, false)
	check("to the open", set("POST", "/advance", `{"to":"open"}`), "2026-11-30T14:30:00Z", true, 0, true)
	check("to the next open", set("POST", "/advance", `{"to":"open"}`), "2026-12-01T14:30:00Z", true, 0, true)
	check("by", set("POST", "/advance", `{"by":"6h30m"}`), "2026-12-01T21:00:00Z", true, 0, false)
	if got := get[map[string]any](t, d, "/v2/clock"); got["timestamp"] != "2026-12-01T16:00:00-05:00" || fmt.Sprint(got["is_open"]) != "false" {
		t.Errorf("the market's clock: %v", got)
	}
	declared := func(want any) {
		t.Helper()
		if got := get[map[string]any](t, d, "/v2/clock")["test_clock"]; got != want {
			t.Errorf("the market's clock declares the test clock as %v, want %v", got, want)
		}
	}
	declared(true)
	check("real again", set("DELETE", "", ""), "2026-03-16T15:02:00Z", false, 1, true)
	declared(nil)
}

func TestTestClockRefuses(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true})
	for _, c := range []struct{ method, path, body, want string }{
		{"PUT", "", `{"pace":-1}`, "pace -1: must be from 0 to 1000000"},
		{"PUT", "", `{"pace":1000001}`, "must be from 0"},
		{"PUT", "", `{"now":"1970-01-01T00:00:00Z"}`, "year 1970"},
		{"PUT", "", `{"now":"yesterday"}`, "the body must be a JSON object"},
		{"PUT", "", `{"speed":1}`, "the body must be a JSON object"},
		{"PUT", "", ``, "the body must be a JSON object"},
		{"POST", "/advance", `{"by":"-1h"}`, "by must be a duration"},
		{"POST", "/advance", `{}`, "by must be a duration"},
		{"POST", "/advance", `{"to":"noon"}`, `to must be \"open\" or \"close\"`},
		{"POST", "/advance", `{"to":"open","by":"1h"}`, `to must be \"open\" or \"close\"`},
	} {
		got := d.do(t, c.method, "/control/clock"+c.path, c.body)
		if got.status != http.StatusBadRequest || !strings.Contains(got.body, c.want) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, got.status, got.body)
		}
	}
	if now, test := d.b.Now(); !now.Equal(d.now()) || test != nil {
		t.Errorf("the clock was set to %v", now)
	}
}

// The test clock goes on after a restart, and a frozen one does not stop the rate
// limit from ending.
func TestTestClockIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "paper.db")
	w := &watch{at: monday()}
	first, err := paper.Open(t.Context(), path, paper.Options{Catalog: catalog(), Now: w.now})
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	if err := first.SetClock(t.Context(), noon, 3600); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	w.advance(time.Minute)
	d := &desk{watch: w, b: open(t, path, paper.Options{Now: w.now, RequestsPerMinute: 1})}
	if now, test := d.b.Now(); !now.Equal(noon.Add(60*time.Hour)) || test == nil || test.Pace != 3600 {
		t.Errorf("after a restart: %v %+v", now, test)
	}
	if err := d.b.SetClock(t.Context(), noon, 0); err != nil {
		t.Fatal(err)
	}
	var got []int
	for range 2 {
		got = append(got, d.do(t, "GET", "/v2/clock", "").status)
	}
	w.advance(time.Minute)
	got = append(got, d.do(t, "GET", "/v2/clock", "").status)
	if diff := cmp.Diff([]int{200, 429, 200}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.advance(-time.Hour) // the real clock was set back
	if now, _ := d.b.Now(); !now.Equal(noon) {
		t.Errorf("the test clock went back to %v", now)
	}
}

func TestControlOfFaults(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Control: true})
	type rule struct {
		ID    int    `json:"id"`
		Fault string `json:"fault"`
		Hits  int    `json:"hits"`
	}
	added := decode[[]rule](t, d.do(t, "POST", "/control/faults", "error status=503 on=clock times=1\n\n reject\n"))
	if diff := cmp.Diff([]rule{{1, "error on=clock times=1 status=503", 0}, {2, "reject", 0}}, added); diff != "" {
		t.Errorf("added (-want +got):\n%s", diff)
	}
	if got := d.do(t, "GET", "/v2/clock", ""); got.status != 503 {
		t.Errorf("status %d", got.status)
	}
	if list := get[[]rule](t, d, "/control/faults"); len(list) != 2 || list[0].Hits != 1 {
		t.Errorf("list: %+v", list)
	}
	afflict(t, d.b, "outage on=all") // it does not touch the control endpoints
	if list := decode[[]rule](t, d.do(t, "DELETE", "/control/faults/1", "")); len(list) != 2 || list[0].ID != 2 {
		t.Errorf("after removing one: %+v", list)
	}
	if list := decode[[]rule](t, d.do(t, "DELETE", "/control/faults", "")); len(list) != 0 {
		t.Errorf("after removing all: %+v", list)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "", "reject\nnonsense", 400},
		{"POST", "", "", 400},
		{"POST", "", strings.Repeat("reject\n", 1001), 400},
		{"DELETE", "/1", "", 404},
		{"DELETE", "/x", "", 404},
		{"DELETE", "/0", "", 404},
		{"GET", "/1", "", 404},
	} {
		if got := d.do(t, c.method, "/control/faults"+c.path, c.body); got.status != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.status, got.body)
		}
	}
	if list := get[[]rule](t, d, "/control/faults"); len(list) != 0 {
		t.Errorf("a refused text added %+v", list)
	}
}

// Without the option there is no control, and with credentials it asks for them.
func TestControlIsGuarded(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	if got := d.do(t, "GET", "/control/faults", ""); got.status != 404 {
		t.Errorf("without the option: %+v", got)
	}
	d = newDesk(t, paper.Options{Control: true, KeyID: "key", SecretKey: "secret", RequestsPerMinute: 1})
	if got := d.do(t, "GET", "/control/faults", ""); got.status != 401 {
		t.Errorf("without credentials: %+v", got)
	}
	for range 3 { // the rate limit is not for the control
		got := d.do(t, "GET", "/control/faults", "", "APCA-API-KEY-ID", "key", "APCA-API-SECRET-KEY", "secret")
		if got.status != 200 || got.header.Get("X-RateLimit-Limit") != "" {
			t.Errorf("with credentials: %+v", got)
		}
	}
}

// Books of the first version are brought up to date, with what is in them.
func TestBooksOfVersionOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "paper.db")
	w := &watch{at: monday()}
	b, err := paper.Open(t.Context(), path, paper.Options{Catalog: catalog(), Now: w.now})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{watch: w, b: b}
	d.bought(t, "one", "F", "12")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `DROP TABLE test_clock; ALTER TABLE orders DROP COLUMN hidden_until;
		ALTER TABLE orders DROP COLUMN fate; DROP TABLE actions; DROP TABLE activities;
		PRAGMA user_version = 1`)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		b, err := paper.Open(t.Context(), path, paper.Options{Catalog: catalog(), Now: w.now})
		if err != nil {
			t.Fatal(err)
		}
		d.b = b
		if o := d.find(t, "one"); o.Status != "filled" {
			t.Errorf("%+v", o)
		}
		d.bought(t, fmt.Sprint("two", i), "F", "12")
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
