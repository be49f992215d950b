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

// seen is what a client saw of a request.
type seen struct {
	status  int
	body    string
	cut     bool // no answer, or half of one
	header  http.Header
	carried bool // the brokerage has the order
}

// submitting sends one order through the handler, over a real connection or not.
func submitting(t *testing.T, fault string, overTCP bool) seen {
	t.Helper()
	b := open(t, ":memory:", paper.Options{})
	afflict(t, b, fault)
	client, url := &http.Client{Transport: b.Transport()}, "http://paper.test"
	if overTCP {
		server := httptest.NewServer(b.Handler())
		t.Cleanup(server.Close)
		client, url = server.Client(), server.URL
	}
	body := strings.NewReader(market("one", "AAPL", "buy", `"notional":"10"`))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v2/orders", body)
	if err != nil {
		t.Fatal(err)
	}
	var s seen
	response, err := client.Do(request)
	if s.cut = err != nil; err == nil {
		text, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
		s.cut = err != nil
		s.status, s.body, s.header = response.StatusCode, string(text), response.Header
	}
	b.RemoveFault(0)
	d := desk{b: b}
	s.carried = d.do(t, http.MethodGet, "/v2/orders:by_client_order_id?client_order_id=one", "").status == http.StatusOK
	return s
}

func TestWireFaults(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]seen{
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
				got := submitting(t, fault, overTCP)
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

// A request that is stuck on the way arrives although its client has given up, and
// an answer that is late was carried out at once.
func TestLateRequestsAndAnswers(t *testing.T) {
	t.Parallel()
	for fault, atOnce := range map[string]bool{"late-request by=15s": false, "late-answer by=15s": true} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := open(t, ":memory:", paper.Options{})
				afflict(t, b, fault+" on=submit")
				client := http.Client{Transport: b.Transport(), Timeout: 10 * time.Second}
				body := strings.NewReader(market("one", "AAPL", "buy", `"notional":"10"`))
				_, err := client.Post("http://paper.test/v2/orders", "application/json", body)
				if err == nil {
					t.Fatal("the client got an answer")
				}
				d := desk{b: b}
				const find = "/v2/orders:by_client_order_id?client_order_id=one"
				if got := d.do(t, "GET", find, "").status == 200; got != atOnce {
					t.Errorf("there at once: %v, want %v", got, atOnce)
				}
				time.Sleep(6 * time.Second)
				synctest.Wait()
				if got := d.do(t, "GET", find, ""); got.status != 200 {
					t.Errorf("after the delay: %d", got.status)
				}
			})
		})
	}
}

// What is on its way when the brokerage closes is lost, and Close does not wait.
func TestCloseLosesLateRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, err := paper.Open(t.Context(), ":memory:", paper.Options{Catalog: catalog()})
		if err != nil {
			t.Fatal(err)
		}
		afflict(t, b, "late-request by=1h")
		client := http.Client{Transport: b.Transport(), Timeout: time.Second}
		if _, err := client.Get("http://paper.test/v2/clock"); err == nil {
			t.Error("the client got an answer")
		}
		begun := time.Now()
		if err := b.Close(); err != nil || time.Since(begun) > 0 {
			t.Errorf("closed after %v: %v", time.Since(begun), err)
		}
	})
}

func TestQuoteFaults(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{
		"zero-quote symbol=AAPL":    "0",
		"absurd-quote symbol=AAPL":  "1000",
		"missing-quote symbol=AAPL": "",
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
			return get[map[string]snapshot](t, d, "/v2/stocks/snapshots?symbols=AAPL")["AAPL"]
		}
		before := read()
		afflict(t, d.b, fault)
		after := read()
		ratio := after.LatestTrade.Price / before.LatestTrade.Price
		got := strconv.FormatFloat(ratio, 'f', 0, 64)
		switch age := d.now().Sub(after.LatestTrade.At); {
		case after.LatestTrade.At.IsZero():
			got = ""
		case age > 24*time.Hour:
			got = "stale"
		}
		if got != want {
			t.Errorf("%s: %s times the price, want %s (%+v)", fault, got, want, after)
		}
		trades := d.do(t, "GET", "/v2/stocks/trades/latest?symbols=AAPL,F", "")
		if strings.Contains(trades.body, "AAPL") != (want != "") || trades.status != 200 {
			t.Errorf("%s: %s", fault, trades.body)
		}
		single := map[bool]int{true: 200, false: 404}[want != ""]
		for _, path := range []string{"/v2/stocks/AAPL/snapshot", "/v2/stocks/AAPL/trades/latest"} {
			if got := d.do(t, "GET", path, ""); got.status != single {
				t.Errorf("%s: %s: %d", fault, path, got.status)
			}
		}
	}
}
