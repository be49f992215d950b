package test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/store/postgres"
	"stockrewards/test/world"
)

// fleet is several serve processes that share a database and a paper brokerage.
type fleet struct {
	*service // for operators' commands, and as one of the processes

	paper     *process
	members   []*member
	flags     []string
	followers *followers // nil: nobody follows events
}

// member is one process of a fleet; it keeps its address.
type member struct {
	*service

	listen, admin string
	args          []string
}

// newFleet creates a store in an empty database, and starts a paper brokerage and n
// processes.
func newFleet(t *testing.T, database string, size int, flags ...string) *fleet {
	t.Helper()
	f := &fleet{paper: startPaper(t, "--requests-per-minute", "0")}
	f.service = &service{t: t, storeURL: database, folder: t.TempDir(), env: credentials()}
	f.flags = append(f.paper.buyAt(), flags...)
	f.key = strings.TrimSpace(f.operate("app", "create", "tester"))
	for range size {
		f.add().run()
	}
	return f
}

// pooled reports whether the processes use PgBouncer.
func (f *fleet) pooled() bool { return slices.Contains(f.flags, "--pgbouncer") }

// operate runs an operator's command that must succeed.
func (f *fleet) operate(args ...string) string {
	f.t.Helper()
	if f.pooled() {
		args = append(args, "--pgbouncer")
	}
	return f.command(args...)
}

// add creates another member, not started yet; its flags follow the common ones.
func (f *fleet) add(flags ...string) *member {
	t := f.t
	t.Helper()
	one := *f.service
	m := &member{service: &one, listen: world.FreeAddress(t), admin: world.FreeAddress(t)}
	m.name, m.url = fmt.Sprint("serve-", len(f.members)), "http://"+m.listen
	m.args = append([]string{
		"serve", "--database", f.storeURL, "--listen", m.listen, "--admin-listen", m.admin,
	}, append(f.flags, flags...)...)
	f.members, f.url = append(f.members, m), m.url
	t.Cleanup(m.kill)
	return m
}

// run starts the process and waits until it listens.
func (m *member) run() {
	m.t.Helper()
	p := launch(m.t, m.name, m.env, m.args...)
	m.cmd, m.exited = p.Cmd, p.Exited
}

func (m *member) signal(s syscall.Signal) {
	m.t.Helper()
	noError(m.t, m.cmd.Process.Signal(s))
}

// leads reports whether the process leads fulfillment; false when it does not answer.
func (m *member) leads() bool {
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.admin+"/metrics", http.NoBody)
	noError(m.t, err)
	response, err := client.Do(r)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return err == nil && strings.Contains(string(text), "stockrewards_fulfillment_leads 1\n")
}

// leader waits until a process leads that is not one of these.
func (f *fleet) leader(most time.Duration, not ...*member) *member {
	f.t.Helper()
	for deadline := time.Now().Add(most); ; time.Sleep(50 * time.Millisecond) {
		for _, m := range f.members {
			if m.cmd != nil && !slices.Contains(not, m) && m.leads() {
				return m
			}
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("nobody leads after %s", most)
		}
	}
}

// load returns clients that use any of the processes.
func (f *fleet) load(clients int) *load {
	l := newLoad(f.service, clients)
	l.door = func() *service { return f.members[rand.IntN(len(f.members))].service }
	l.most = 500 * time.Millisecond
	l.resume()
	return l
}

// verify accounts for everything acknowledged, and stops the fleet.
func (f *fleet) verify(l *load) {
	t := f.t
	t.Helper()
	l.pause()
	l.finish()
	l.verifyRewards()
	if f.followers != nil {
		f.followers.verify(l)
	}
	f.end()
}

// end stops the fleet and compares its books with the brokerage's.
func (f *fleet) end() {
	t := f.t
	t.Helper()
	for _, m := range f.members {
		if m.cmd == nil {
			continue
		}
		noError(t, m.stop())
	}
	if out := f.operate("fulfillment", "status"); strings.Contains(out, "broker_conflict") {
		t.Errorf("the brokerage has orders that the store does not know:\n%s", out)
	}
	f.operate("audit")
	f.operate("audit", "--broker", "--alpaca-url", f.paper.URL)
	engine, err := postgres.Open(t.Context(), f.storeURL, postgres.Options{Pooled: f.pooled()})
	noError(t, err)
	broker := alpaca.New(alpaca.Options{TradingURL: f.paper.URL, DataURL: f.paper.URL, KeyID: "key", SecretKey: "secret"})
	wantPositions(t, broker, sharesIn(t, engine))
}
