package test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/sqlite"
)

// load is clients that give rewards continuously and remember what was acknowledged. A
// failed request is retried with its key, as a correct client does.
type load struct {
	s     *service
	door  func() *service // which process gets a request
	most  time.Duration   // before a request is retried elsewhere
	users []string

	mu           sync.Mutex
	acknowledged map[string]award
	given        map[string]money.USD // acknowledged, by user
	nextKey      int

	mute atomic.Bool // no acknowledgement is possible now

	stop    context.CancelFunc
	clients sync.WaitGroup
	size    int
}

func startLoad(s *service, clients int) *load {
	l := newLoad(s, clients)
	l.resume()
	return l
}

// newLoad creates clients, idle until resume.
func newLoad(s *service, clients int) *load {
	l := &load{s: s, door: func() *service { return s }, most: client.Timeout, acknowledged: map[string]award{}, given: map[string]money.USD{}, size: clients}
	for i := range 5 {
		l.users = append(l.users, s.newUser(fmt.Sprint("user-", i)))
	}
	return l
}

// resume starts the clients against the running service.
func (l *load) resume() {
	ctx, stop := context.WithCancel(l.s.t.Context())
	l.stop = stop
	for range l.size {
		l.clients.Go(func() { l.client(ctx) })
	}
}

// pause stops the clients; the outcome of their last requests is unknown.
func (l *load) pause() {
	l.stop()
	l.clients.Wait()
}

func (l *load) client(ctx context.Context) {
	for ctx.Err() == nil {
		l.mu.Lock()
		n := l.nextKey
		l.nextKey++
		l.mu.Unlock()
		l.ask(ctx, n)
	}
}

// ask sends the n-th request until it is answered.
func (l *load) ask(ctx context.Context, n int) {
	user, amount, body := l.nth(n)
	for ctx.Err() == nil {
		mute := l.mute.Load()
		a, err := l.post(ctx, body)
		if err != nil || a.status >= 500 {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if mute && l.mute.Load() {
			l.s.t.Errorf("request %d was answered %d while nothing can be acknowledged: %s", n, a.status, a.body)
		}
		var got struct{ Reward award }
		if a.status != 200 && a.status != 201 || json.Unmarshal(a.body, &got) != nil {
			l.s.t.Errorf("request %d was answered %d %s", n, a.status, a.body)
			return
		}
		l.note(got.Reward, user, amount)
		return
	}
}

// nth is the n-th request; it is always the same.
func (l *load) nth(n int) (user string, amount money.USD, body string) {
	symbols := []string{"AAPL", "KO", "NVDA", "VOO"}
	user, amount = l.users[n%len(l.users)], money.USD(1_000_001+n%7*250_000)
	return user, amount, giving(user, fmt.Sprintf("load-key-%06d", n), amount.String(), symbols[n%len(symbols)])
}

func (l *load) post(ctx context.Context, body string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, l.most)
	defer cancel()
	return l.door().request(ctx, "POST", "/v1/rewards", body)
}

func (l *load) note(r award, user string, amount money.USD) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, ok := l.acknowledged[r.IdempotencyKey]; ok {
		if before.ID != r.ID {
			l.s.t.Errorf("%s is %s and %s", r.IdempotencyKey, before.ID, r.ID)
		}
		return
	}
	l.acknowledged[r.IdempotencyKey] = r
	l.given[user] += amount
}

// finish repeats every request, so that every key that may be stored is acknowledged.
func (l *load) finish() {
	l.s.t.Helper()
	const most = 10 * time.Minute
	ctx, cancel := context.WithTimeout(l.s.t.Context(), most)
	defer cancel()
	for client := range l.size {
		l.clients.Go(func() {
			for n := client; n < l.nextKey; n += l.size {
				l.ask(ctx, n)
			}
		})
	}
	l.clients.Wait()
	if ctx.Err() != nil {
		l.s.t.Error("the clients were not answered in time")
	}
}

// verify stops the clients and accounts for everything. It needs the running service and
// stops it.
func (l *load) verify() {
	t, s := l.s.t, l.s
	t.Helper()
	l.pause()
	l.finish()
	l.verifyRewards()
	noError(t, s.stop())
	s.command("audit")
	comparePositions(t, s.folder)
	mustHold(t, s.ledger("--positions"))
}

// verifyRewards fails unless every acknowledged reward exists once and is executed.
func (l *load) verifyRewards() {
	t, s := l.s.t, l.s
	t.Helper()
	stored := l.storedRewards()
	for key, acknowledged := range l.acknowledged {
		if stored[key].ID != acknowledged.ID {
			t.Errorf("%s was acknowledged as %s, stored is %q", key, acknowledged.ID, stored[key].ID)
		}
	}
	if len(stored) != len(l.acknowledged) {
		t.Errorf("%d rewards are stored, %d were acknowledged", len(stored), len(l.acknowledged))
	}
	deadline := time.Now().Add(10 * time.Minute)
	for _, r := range stored {
		s.await(r.ID, "executed", time.Until(deadline))
	}
	for user, given := range l.given {
		var p struct {
			CostBasis json.Number
		}
		path := "/v1/users/" + user + "/portfolio"
		eventually(t, "the first price of a stock", 10*time.Second, func() bool {
			a, err := s.request(t.Context(), "GET", path, "")
			return err != nil || a.status != 502
		})
		s.must(200, "GET", path, "").decode(t, &p)
		if p.CostBasis.String() != given.String() {
			t.Errorf("user %s: cost basis %s, given %s", user, p.CostBasis, given)
		}
	}
	t.Logf("%d rewards accounted for", len(stored))
}

// storedRewards reads the whole list; a key that occurs twice is an error.
func (l *load) storedRewards() map[string]award {
	t := l.s.t
	t.Helper()
	stored := map[string]award{}
	path := "/v1/rewards?limit=200"
	for path != "" {
		a := l.s.must(200, "GET", path, "")
		var list struct{ Rewards []award }
		a.decode(t, &list)
		for _, r := range list.Rewards {
			if _, twice := stored[r.IdempotencyKey]; twice {
				t.Errorf("the key %s occurs twice", r.IdempotencyKey)
			}
			stored[r.IdempotencyKey] = r
		}
		path = ""
		if link := a.header.Get("Link"); link != "" {
			target, err := url.Parse(link[strings.Index(link, "<")+1 : strings.Index(link, ">")])
			noError(t, err)
			path = target.RequestURI()
		}
	}
	return stored
}

// comparePositions compares the paper brokerage's positions with the users' holdings and the
// house's shares. The service must have stopped.
func comparePositions(t *testing.T, folder string) {
	t.Helper()
	brokerage := openPaper(t, filepath.Join(folder, "paper.db"))
	defer brokerage.Close()
	broker := alpaca.New(alpaca.Options{
		TradingURL: "http://paper.invalid", DataURL: "http://paper.invalid", KeyID: "paper", SecretKey: "paper", Transport: brokerage.Transport(),
	})
	wantPositions(t, broker, ourShares(t, filepath.Join(folder, "rewards.db")))
}

// wantPositions fails unless the broker holds exactly these shares.
func wantPositions(t *testing.T, broker *alpaca.Client, ours map[string]money.Shares) {
	t.Helper()
	positions, err := broker.Positions(t.Context())
	noError(t, err)
	for _, p := range positions {
		if ours[p.Symbol] != p.Qty {
			t.Errorf("the brokerage holds %s of %s, we booked %s", p.Qty, p.Symbol, ours[p.Symbol])
		}
		delete(ours, p.Symbol)
	}
	for symbol, shares := range ours {
		t.Errorf("we booked %s of %s, the brokerage holds none", shares, symbol)
	}
}

// ourShares are the shares in an SQLite store.
func ourShares(t *testing.T, path string) map[string]money.Shares {
	t.Helper()
	engine, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	noError(t, err)
	defer engine.Close()
	return sharesIn(t, engine)
}

// sharesIn are the users' and the house's shares by symbol, in a store.
func sharesIn(t *testing.T, engine store.Engine) map[string]money.Shares {
	t.Helper()
	s, err := store.New(t.Context(), engine, time.Now, rand.Reader)
	noError(t, err)
	assets, err := s.Assets(t.Context())
	noError(t, err)
	symbols := map[rewards.AssetID]string{}
	for _, a := range assets {
		symbols[a.ID] = a.Symbol
	}
	shares := map[string]money.Shares{}
	apps, err := s.Apps(t.Context())
	noError(t, err)
	for _, app := range apps {
		users, err := s.Users(t.Context(), app.ID, rewards.UserFilter{}, rewards.Page[rewards.User]{Limit: 1 << 20})
		noError(t, err)
		for _, u := range users {
			holdings, err := s.Holdings(t.Context(), app.ID, u.ID)
			noError(t, err)
			for _, h := range holdings {
				shares[symbols[h.AssetID]] += h.Quantity
			}
		}
	}
	noError(t, engine.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return tx.Query(ctx, func(row store.Row) error {
			var asset, quantity int64
			err := row.Scan(&asset, &quantity)
			shares[symbols[rewards.AssetID(asset)]] += money.Shares(quantity)
			return err
		}, `SELECT asset_id, quantity FROM house_holdings WHERE quantity <> 0`)
	}))
	return shares
}
