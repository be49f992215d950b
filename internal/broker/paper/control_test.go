package paper_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/paper"
)

type testClock struct {
	Now    string `json:"now"`
	Test   bool   `json:"test"`
	Pace   int64  `json:"pace"`
	IsOpen bool   `json:"isOpen"`
}

func TestTestClock(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Hours: paper.USEquities, Control: true})
	for _, c := range []struct {
		wait               time.Duration // before the request
		method, path, body string
		want               testClock
	}{
		{0, "GET", "", "", testClock{"2026-03-16T14:00:00Z", false, 1, true}},
		{0, "PUT", "", `{"now":"2026-11-27T10:00:00-05:00"}`, testClock{"2026-11-27T15:00:00Z", true, 1, true}},
		{time.Minute, "GET", "", "", testClock{"2026-11-27T15:01:00Z", true, 1, true}},
		{0, "PUT", "", `{"pace":60}`, testClock{"2026-11-27T15:01:00Z", true, 60, true}},
		{time.Minute, "GET", "", "", testClock{"2026-11-27T16:01:00Z", true, 60, true}},
		{0, "PUT", "", `{"pace":0}`, testClock{"2026-11-27T16:01:00Z", true, 0, true}},
		{time.Hour, "POST", "/advance", `{"to":"close"}`, testClock{"2026-11-27T18:00:00Z", true, 0, false}}, // a half day
		{0, "POST", "/advance", `{"to":"open"}`, testClock{"2026-11-30T14:30:00Z", true, 0, true}},
		{0, "POST", "/advance", `{"to":"open"}`, testClock{"2026-12-01T14:30:00Z", true, 0, true}},
		{0, "POST", "/advance", `{"by":"6h30m"}`, testClock{"2026-12-01T21:00:00Z", true, 0, false}},
		{0, "DELETE", "", "", testClock{"2026-03-16T15:02:00Z", false, 1, true}},
	} {
		d.advance(c.wait)
		if diff := cmp.Diff(c.want, send[testClock](d, c.method, "/control/clock"+c.path, c.body)); diff != "" {
			t.Errorf("%s %s %s (-want +got):\n%s", c.method, c.path, c.body, diff)
		}
		now, _ := d.b.Now()
		declared := map[bool]any{true: true, false: nil}[c.want.Test]
		market := get[map[string]any](d, "/v2/clock")
		at, _ := market["timestamp"].(string)
		if market["test_clock"] != declared || market["can_jump"] != any(true) || !instant(at).Equal(now) || market["is_open"] != c.want.IsOpen {
			t.Errorf("%s %s %s: the market's clock is %v", c.method, c.path, c.body, market)
		}
	}
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
		d.expect(c.method, "/control/clock"+c.path, c.body, 400, c.want)
	}
	if now, test := d.b.Now(); !now.Equal(d.now()) || test != nil {
		t.Errorf("the clock was set to %v", now)
	}
}

// TestTestClockSurvivesARestart also checks that a stopped test clock does not stop the
// minutes of the rate limit.
func TestTestClockSurvivesARestart(t *testing.T) {
	t.Parallel()
	d := newFileDesk(t, paper.Options{})
	noon := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	d.check(d.b.SetClock(t.Context(), noon, 3600))
	d.advance(time.Minute)
	d.reopen(paper.Options{RequestsPerMinute: 1})
	if now, test := d.b.Now(); !now.Equal(noon.Add(60*time.Hour)) || test == nil || test.Pace != 3600 {
		t.Errorf("after a restart: %v %+v", now, test)
	}
	d.check(d.b.SetClock(t.Context(), noon, 0))
	got := []int{d.status("/v2/clock"), d.status("/v2/clock")}
	d.advance(time.Minute)
	got = append(got, d.status("/v2/clock"))
	if diff := cmp.Diff([]int{200, 429, 200}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	d.advance(-time.Hour) // the real clock is set back
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
	const path = "/control/faults"
	added := send[[]rule](d, "POST", path, "error status=503 on=clock times=1\n\n reject\n")
	if diff := cmp.Diff([]rule{{1, "error on=clock times=1 status=503", 0}, {2, "reject", 0}}, added); diff != "" {
		t.Errorf("added (-want +got):\n%s", diff)
	}
	if got := d.status("/v2/clock"); got != 503 {
		t.Errorf("status %d, want 503", got)
	}
	if list := get[[]rule](d, path); len(list) != 2 || list[0].Hits != 1 {
		t.Errorf("list: %+v", list)
	}
	d.afflict("outage on=all") // does not strike the control endpoints
	if list := send[[]rule](d, "DELETE", path+"/1", ""); len(list) != 2 || list[0].ID != 2 {
		t.Errorf("after removing one: %+v", list)
	}
	if list := send[[]rule](d, "DELETE", path, ""); len(list) != 0 {
		t.Errorf("after removing all: %+v", list)
	}
	for _, body := range []string{"reject\nnonsense", "", strings.Repeat("reject\n", 1001)} {
		d.expect("POST", path, body, 400, "")
	}
	for _, id := range []string{"1", "x", "0"} {
		d.expect("DELETE", path+"/"+id, "", 404, fmt.Sprintf("no fault with the id %s", id))
	}
	d.expect("GET", path+"/1", "", 404, "endpoint not found")
	if list := get[[]rule](d, path); len(list) != 0 {
		t.Errorf("a refused body added %+v", list)
	}
}

// TestControlIsGuarded: the control endpoints need the option and the credentials, but
// have no rate limit.
func TestControlIsGuarded(t *testing.T) {
	t.Parallel()
	newDesk(t, paper.Options{}).expect("GET", "/control/faults", "", 404, "")
	d := newDesk(t, paper.Options{Control: true, KeyID: "key", SecretKey: "secret", RequestsPerMinute: 1})
	d.expect("GET", "/control/faults", "", 401, "unauthorized")
	for range 3 {
		got := d.do("GET", "/control/faults", "", "APCA-API-KEY-ID", "key", "APCA-API-SECRET-KEY", "secret")
		if got.status != 200 || got.header.Get("X-RateLimit-Limit") != "" {
			t.Errorf("with credentials: %+v", got)
		}
	}
}
