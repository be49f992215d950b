package test

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/catalog"
	"stockrewards/test/world"
)

// brokerage is a paper brokerage on a separate port, reached like a real broker.
type brokerage struct {
	address string
	rewrite atomic.Pointer[func(body []byte) []byte] // of every answer; nil: unchanged
	blind   atomic.Bool                              // look-ups of an order fail
	refuses atomic.Bool                              // every new order is forbidden
}

// openPaper opens the books of a paper brokerage that trades the catalog.
func openPaper(t *testing.T, path string) *paper.Brokerage {
	t.Helper()
	entries, err := catalog.Entries()
	noError(t, err)
	o := paper.Options{Now: time.Now, Random: rand.Reader}
	for _, e := range entries {
		o.Catalog = append(o.Catalog, paper.Asset{Symbol: e.Symbol, Name: e.Name, Exchange: e.Exchange, Price: e.Price})
	}
	books, err := paper.Open(t.Context(), path, o)
	noError(t, err)
	return books
}

// startBrokerage serves a brokerage with new books at an address; "" is any free one.
func startBrokerage(t *testing.T, address string) *brokerage {
	t.Helper()
	books := openPaper(t, filepath.Join(t.TempDir(), "broker.db"))
	listener, err := net.Listen("tcp", cmp.Or(address, "127.0.0.1:0"))
	noError(t, err)
	b := &brokerage{address: listener.Addr().String()}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.blind.Load() && strings.HasPrefix(r.URL.Path, "/v2/orders:by_client_order_id") {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		if b.refuses.Load() && r.Method == http.MethodPost && r.URL.Path == "/v2/orders" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"message":"forbidden."}`))
			return
		}
		answer := httptest.NewRecorder()
		books.Handler().ServeHTTP(answer, r)
		body := answer.Body.Bytes()
		if rewrite := b.rewrite.Load(); rewrite != nil {
			body = (*rewrite)(body)
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(body)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		server.Close()
		books.Close()
	})
	return b
}

// flags make serve use the brokerage as a real broker.
func (b *brokerage) flags() []string {
	return []string{"--broker", "alpaca", "--alpaca-url", "http://" + b.address, "--alpaca-data-url", "http://" + b.address}
}

// newCustomer creates a service with a real broker's credentials in its environment.
func newCustomer(t *testing.T) *service {
	t.Helper()
	s := newService(t, t.TempDir())
	s.env = []string{"APCA_API_KEY_ID=key", "APCA_API_SECRET_KEY=canary-secret-of-the-broker"}
	return s
}

// While the broker is unreachable, rewards are recorded, and readiness has only warnings. They
// are bought afterwards.
func TestStartWithoutTheBroker(t *testing.T) {
	t.Parallel()
	s := newCustomer(t)
	away := &brokerage{address: world.FreeAddress(t)}
	began := time.Now()
	admin := s.startWatched(away.flags()...)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("serve was ready after %s", took)
	}
	r := s.give(s.newUser("anna"), "without-broker", "5", "AAPL")
	s.eventually("alarm", 10*time.Second, func() bool {
		return strings.Contains(s.command("fulfillment", "status"), "broker_account_unknown")
	})
	var body string
	s.eventually("warning", 15*time.Second, func() bool {
		var status int
		if status, body = look(t, admin+"/readyz"); status != 200 {
			t.Errorf("/readyz: %d %s", status, body)
		}
		return strings.Contains(body, "broker_account_unknown") && strings.Contains(body, "prices_not_usable")
	})
	if metric(t, admin, `broker_calls_total{operation="account",outcome="unknown"}`) < 1 || metric(t, admin, "fulfillment_leads") != 0 {
		t.Error("the metrics do not show it")
	}
	startBrokerage(t, away.address)
	s.await(r.ID, "executed", 30*time.Second)
	if out := s.command("fulfillment", "status"); strings.Contains(out, "broker_account_unknown") {
		t.Errorf("the alarm is still raised: %s", out)
	}
	if strings.Contains(s.logs()+body, "canary") {
		t.Error("the log or /readyz holds the broker's secret")
	}
}

// A store belongs to one account of one broker.
func TestAnotherAccountIsRefused(t *testing.T) {
	t.Parallel()
	s := newCustomer(t)
	first, second := startBrokerage(t, ""), startBrokerage(t, "")
	s.start(first.flags()...)
	r := s.give(s.newUser("anna"), "first-account", "5", "AAPL")
	s.await(r.ID, "executed", 20*time.Second)
	noError(t, s.stop())
	for want, flags := range map[string][]string{
		"belongs to the account":         second.flags(),
		`belongs to the broker "alpaca"`: nil,
	} {
		s.wantError(want, append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...)...)
	}
}

func TestResolvingAgainstTheBrokerIsRefused(t *testing.T) {
	t.Parallel()
	s := newCustomer(t)
	b := startBrokerage(t, "")
	sell := func(body []byte) []byte {
		return bytes.ReplaceAll(body, []byte(`"side":"buy"`), []byte(`"side":"sell"`))
	}
	b.rewrite.Store(&sell)
	s.start(b.flags()...)
	r := s.give(s.newUser("anna"), "to-be-resolved", "5", "AAPL")
	id := s.awaitOrder("quarantined", "")
	filled, price, at := b.fill(t)
	resolve := slices.Concat([]string{"order", "resolve", id, "--reason", "a drill"}, b.flags())
	notBought := slices.Concat(resolve, []string{"--not-bought"})
	s.wantError("the broker reports", notBought...)
	s.wantError("cannot ask the broker", append(notBought, "--alpaca-url", "http://"+world.FreeAddress(t))...)
	b.blind.Store(true)
	s.wantError("cannot ask the broker", notBought...)
	b.blind.Store(false)
	for range 2 { // the second time changes nothing
		s.command(append(resolve, "--filled", filled, "--price", price)...)
	}
	s.await(r.ID, "executed", 10*time.Second)
	var got struct {
		Reward struct{ ExecutedAt time.Time }
	}
	s.must(200, "GET", "/v1/rewards/"+r.ID, "").decode(t, &got)
	if !got.Reward.ExecutedAt.Equal(at.Truncate(time.Millisecond)) {
		t.Errorf("executed at %s, the broker filled it at %s", got.Reward.ExecutedAt, at)
	}
	s.command("audit")
}

// awaitOrder waits for an order in the state whose row contains a string, and returns its id.
func (s *service) awaitOrder(state, row string) (id string) {
	s.t.Helper()
	s.eventually("order", 20*time.Second, func() bool {
		rows := strings.Split(s.command("order", "list", "--state", state), "\n")
		if len(rows) > 2 && strings.Contains(rows[1], row) {
			id = strings.Fields(rows[1])[0]
		}
		return id != ""
	})
	return id
}

// fill reads the fill of the brokerage's only order.
func (b *brokerage) fill(t *testing.T) (qty, price string, at time.Time) {
	t.Helper()
	for qty == "" || qty == "0" {
		qty, price, at = b.order(t)
		time.Sleep(20 * time.Millisecond)
	}
	return qty, price, at
}

func (b *brokerage) order(t *testing.T) (qty, price string, at time.Time) {
	t.Helper()
	var orders []struct {
		Qty   string    `json:"filled_qty"`
		Price string    `json:"filled_avg_price"`
		At    time.Time `json:"filled_at"`
	}
	world.Ask(t, 200, "", "GET", "http://"+b.address+"/v2/orders?status=all", "", &orders)
	if len(orders) != 1 {
		t.Fatal(orders)
	}
	return orders[0].Qty, orders[0].Price, orders[0].At
}

// After an I/O error at a commit, its outcome is unknown: nothing is acknowledged, the
// process stops, and the next start has everything that was acknowledged before.
func TestAnIOErrorAtACommitStopsTheProcess(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start()
	user := s.newUser("anna")
	kept := s.give(user, "before-error", "5", "AAPL")
	s.await(kept.ID, "executed", 10*time.Second)
	s.traceSyncs("error=EIO")
	statuses := map[int]int{}
	var exit error
	for n, deadline := 0, time.Now().Add(20*time.Second); exit == nil; n++ {
		if time.Now().After(deadline) {
			t.Fatalf("the process goes on: %v\n%s", statuses, s.logs())
		}
		a, err := s.request(t.Context(), "POST", "/v1/rewards", giving(user, "during-error-"+strconv.Itoa(n), "5", "AAPL"))
		if err == nil {
			statuses[a.status]++
		}
		select {
		case exit = <-s.exited:
			s.cmd = nil
		default:
			time.Sleep(10 * time.Millisecond)
		}
	}
	if !strings.Contains(exit.Error(), "exit status 1") {
		t.Errorf("it ended with %v", exit)
	}
	for status := range statuses {
		if status != http.StatusServiceUnavailable {
			t.Errorf("answers %v while no file can be synced, want 503 only", statuses)
		}
	}
	s.start()
	s.must(200, "GET", "/v1/rewards/"+kept.ID, "")
	again := s.give(user, "after-error", "5", "AAPL")
	s.await(again.ID, "executed", 10*time.Second)
	s.command("audit")
}
