package paper_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/broker/paper"
)

// outcome is what a client sees of a request, and whether it was carried out.
type outcome struct {
	status  int
	body    string
	cut     bool // no answer, or a truncated one
	header  http.Header
	carried bool
}

// submit submits one order, over a real connection or in process.
func submit(t *testing.T, fault string, overTCP bool) (got outcome) {
	t.Helper()
	d := &desk{t: t, b: open(t, ":memory:", paper.Options{})}
	d.afflict(fault)
	client, url := &http.Client{Transport: d.b.Transport()}, "http://paper.test"
	if overTCP {
		server := httptest.NewServer(d.b.Handler())
		t.Cleanup(server.Close)
		client, url = server.Client(), server.URL
	}
	body := strings.NewReader(market("one", "AAPL", "buy", notional("10")))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v2/orders", body)
	d.check(err)
	response, err := client.Do(request)
	if got.cut = err != nil; err == nil {
		text, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
		got.cut = err != nil
		got.status, got.body, got.header = response.StatusCode, string(text), response.Header
	}
	d.b.RemoveFault(0)
	got.carried = d.status(byClientID("one")) == http.StatusOK
	return got
}

func TestRequestFaults(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]outcome{
		"lost-request":                    {cut: true},
		"lost-answer":                     {cut: true, carried: true},
		"cut-answer":                      {cut: true, carried: true, status: 200, body: `{"id":"`},
		"outage":                          {cut: true},
		"error":                           {status: 500, body: `{"code":50010000,"message":"internal server error"}`},
		"error status=503 carried=true":   {status: 503, body: `{"code":50310000,"message":"service unavailable"}`, carried: true},
		"rate-limit":                      {status: 429, body: `{"code":42910000,"message":"rate limit exceeded"}`},
		"rate-limit carried=true":         {status: 429, body: `{"code":42910000,`, carried: true},
		"empty-body":                      {status: 200, body: "", carried: true},
		"empty-body status=502":           {status: 502, body: "", carried: true},
		"html-body":                       {status: 502, body: "<html>"},
		"html-body status=200":            {status: 200, body: "<html>"},
		"html-body carried=true":          {status: 502, body: "<html>", carried: true},
		"duplicate":                       {status: 422, body: `{"code":40010001,"message":"client_order_id must be unique"}`, carried: true},
		"no-buying-power":                 {status: 403, body: `{"code":40310000,"message":"insufficient buying power","buying_power":"0"`},
		"late-answer by=1ms":              {status: 200, body: `{"id":"`, carried: true},
		"late-request by=1ms":             {status: 200, body: `{"id":"`, carried: true},
		"lost-request symbol=F":           {status: 200, body: `{"id":"`, carried: true},
		"lost-request symbol=AAPL":        {cut: true},
		"lost-request on=list,lookup":     {status: 200, body: `{"id":"`, carried: true},
		"lost-request on=account,submit":  {cut: true},
		"lost-request on=prices":          {status: 200, body: `{"id":"`, carried: true},
		"lost-request on=all":             {cut: true},
		"lost-request on=positions,clock": {status: 200, body: `{"id":"`, carried: true},
	} {
		for _, overTCP := range []bool{false, true} {
			t.Run(fault+" "+strconv.FormatBool(overTCP), func(t *testing.T) {
				t.Parallel()
				got := submit(t, fault, overTCP)
				if got.status != want.status || got.cut != want.cut || got.carried != want.carried ||
					!strings.HasPrefix(got.body, want.body) || want.body == "" && got.body != "" {
					t.Errorf("got %+v\nwant %+v", got, want)
				}
				if got.status == 429 && (got.header.Get("X-RateLimit-Remaining") != "0" || got.header.Get("X-RateLimit-Reset") == "") {
					t.Errorf("headers %v", got.header)
				}
			})
		}
	}
}

// TestLateRequestsAndAnswers: a request that is stuck in the network arrives although its
// client has given up; one whose answer is late is carried out at once.
func TestLateRequestsAndAnswers(t *testing.T) {
	t.Parallel()
	for fault, atOnce := range map[string]bool{"late-request by=15s": false, "late-answer by=15s": true} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := &desk{t: t, b: open(t, ":memory:", paper.Options{})}
				d.afflict(fault + " on=submit")
				client := http.Client{Transport: d.b.Transport(), Timeout: 10 * time.Second}
				body := strings.NewReader(market("one", "AAPL", "buy", notional("10")))
				if _, err := client.Post("http://paper.test/v2/orders", "application/json", body); err == nil {
					t.Fatal("the client got an answer")
				}
				if got := d.status(byClientID("one")) == 200; got != atOnce {
					t.Errorf("carried out before the delay: %v, want %v", got, atOnce)
				}
				time.Sleep(6 * time.Second)
				synctest.Wait()
				if got := d.status(byClientID("one")); got != 200 {
					t.Errorf("after the delay: status %d, want 200", got)
				}
			})
		})
	}
}

// TestCloseDropsLateRequests checks that Close does not wait for a request that is held back.
func TestCloseDropsLateRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{t: t, b: open(t, ":memory:", paper.Options{})}
		d.afflict("late-request by=1h")
		client := http.Client{Transport: d.b.Transport(), Timeout: time.Second}
		if _, err := client.Get("http://paper.test/v2/clock"); err == nil {
			t.Error("the client got an answer")
		}
		begun := time.Now()
		d.check(d.b.Close())
		if took := time.Since(begun); took > 0 {
			t.Errorf("Close took %v", took)
		}
	})
}

func TestQuoteFaults(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{ // times the price
		"zero-quote symbol=AAPL":    "0",
		"absurd-quote symbol=AAPL":  "1000",
		"missing-quote symbol=AAPL": "missing",
		"stale-quote symbol=AAPL":   "stale",
		"zero-quote symbol=F":       "1",
	} {
		d := newDesk(t, paper.Options{Hours: paper.USEquities})
		type snapshot struct {
			LatestTrade struct {
				At    time.Time `json:"t"`
				Price float64   `json:"p"`
			} `json:"latestTrade"`
		}
		read := func() snapshot {
			return get[map[string]snapshot](d, "/v2/stocks/snapshots?symbols=AAPL")["AAPL"]
		}
		before := read()
		d.afflict(fault)
		after := read()
		got := strconv.FormatFloat(after.LatestTrade.Price/before.LatestTrade.Price, 'f', 0, 64)
		switch {
		case after.LatestTrade.At.IsZero():
			got = "missing"
		case d.now().Sub(after.LatestTrade.At) > 24*time.Hour:
			got = "stale"
		}
		if got != want {
			t.Errorf("%s: got %s, want %s (%+v)", fault, got, want, after)
		}
		trades := d.do("GET", "/v2/stocks/trades/latest?symbols=AAPL,F", "")
		if strings.Contains(trades.body, "AAPL") != (want != "missing") || trades.status != 200 {
			t.Errorf("%s: %s", fault, trades.body)
		}
		status := map[bool]int{true: 404, false: 200}[want == "missing"]
		for _, path := range []string{"/v2/stocks/AAPL/snapshot", "/v2/stocks/AAPL/trades/latest"} {
			if got := d.status(path); got != status {
				t.Errorf("%s: %s: %d, want %d", fault, path, got, status)
			}
		}
	}
}
