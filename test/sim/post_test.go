package sim

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"stockrewards/internal/api"
	"stockrewards/internal/rewards"
	"stockrewards/internal/webhook"
)

// post is what clients follow events with: endpoints of webhooks, readers of the feed. Clients also take
// awards back, and some apps have budgets. A nil post does nothing.
type post struct {
	*lab

	calm    bool // no faults strike
	windows int
	postmen []*postman // of this window
	running sync.WaitGroup
	readers []*eventReader
	feeds   [apps]feed
	takings []*taking
	budgets []rewards.Budget

	mu       sync.Mutex
	boxes    map[string]*box // by URL
	list     []*box
	problems []string // found by goroutines of postmen
}

// postman is a dispatcher of a process in one window of time, with faults at its effects.
type postman struct {
	webhook.Store
	post    *post
	process *process
	name    string
	stop    context.CancelFunc

	mu     sync.Mutex
	killed bool
	count  int // effects so far
}

// plain seals nothing.
type plain struct{}

func (plain) Seal(_ rewards.AppID, secret []byte) (rewards.SealedSecret, error) { return secret, nil }

func (plain) Open(_ rewards.AppID, sealed rewards.SealedSecret) ([]byte, error) { return sealed, nil }

// WebhookAttempt implements webhook.Observer.
func (*postman) WebhookAttempt(rewards.WebhookAnswer, time.Duration) {}

// chance returns a number from 0 to n-1 that follows from the seed and the parts, whichever goroutine asks.
func (p *post) chance(n uint64, parts ...any) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, append([]any{p.seed, " "}, parts...)...)
	return h.Sum64() >> 7 % n
}

// open has the processes send webhooks, while they go on with everything else.
func (p *post) open(steps int, pause time.Duration) {
	p.windows++
	for range steps {
		p.hire()
		p.step(p.procs[p.random.IntN(len(p.procs))])
		p.sleep(time.Duration(p.random.Int64N(int64(pause))))
		for _, m := range p.postmen {
			if m.dead() && m.process.name == m.name && !m.process.dead {
				m.process.die()
			}
		}
	}
	for _, m := range p.postmen {
		m.stop()
	}
	p.running.Wait()
	p.postmen = nil
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, problem := range p.problems {
		p.violate("receivers get each event, in order", "webhooks", "%s", problem)
	}
	p.problems = nil
}

// hire starts a dispatcher in each living process that has none.
func (p *post) hire() {
	for _, proc := range p.procs {
		has := false
		for _, m := range p.postmen {
			has = has || m.process == proc && m.name == proc.name
		}
		if proc.dead || has {
			continue
		}
		m := &postman{Store: proc.store, post: p, process: proc, name: proc.name}
		d := webhook.New(webhook.Options{
			Store: m, Sender: m, Sealer: plain{}, Observer: m, Holder: fmt.Sprint(proc.name, "/", p.windows),
			Encode:   func(e rewards.Event) []byte { return api.AppendEventData(nil, e) },
			LeaseTTL: 6 * time.Second, Exclusive: len(p.procs) == 1, Schedule: retries(), Now: time.Now,
			Random: func(n int64) int64 { return n / 2 }, Log: p.log,
		})
		ctx, stop := context.WithCancel(context.Background())
		m.stop = stop
		p.postmen = append(p.postmen, m)
		p.running.Go(func() { d.Run(ctx) })
	}
}

func retries() []time.Duration {
	return []time.Duration{5 * time.Second, time.Minute, 10 * time.Minute, time.Hour}
}

// died makes the dispatcher of a process that has died have no more effects.
func (p *post) died(proc *process) {
	if p == nil {
		return
	}
	for _, m := range p.postmen {
		if m.process == proc && m.name == proc.name {
			m.kill()
		}
	}
}

func (m *postman) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.killed = true
}

func (m *postman) dead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.killed
}

// do carries out an effect on the store, or a fault.
func (m *postman) do(name string, carry func() error) error {
	m.mu.Lock()
	m.count++
	n := m.count
	m.mu.Unlock()
	if m.dead() {
		return errKilled
	}
	switch draw := m.post.chance(1000, m.name, name, n); {
	case m.post.calm:
	case draw < 15:
		m.kill()
		return errKilled
	case draw < 30:
		_ = carry() // the process is dead
		m.kill()
		return errKilled
	case draw < 60:
		return rewards.Unavailable("the database cannot be written", errDisk)
	case draw < 90:
		if err := carry(); err != nil {
			return err
		}
		return errNobodyKnows
	case draw < 100: // the process stops for longer than its lease
		time.Sleep(time.Duration(draw) * 100 * time.Millisecond)
	}
	return carry()
}

// TakeWebhookShards implements webhook.Store.
func (m *postman) TakeWebhookShards(
	ctx context.Context, holder string, ttl time.Duration, force bool,
) (mine map[int]rewards.WebhookShard, err error) {
	err = m.do("take", func() (err error) {
		mine, err = m.Store.TakeWebhookShards(ctx, holder, ttl, force)
		return err
	})
	return mine, err
}

// DropWebhookShards implements webhook.Store.
func (m *postman) DropWebhookShards(ctx context.Context, holder string) error {
	return m.do("drop", func() error { return m.Store.DropWebhookShards(ctx, holder) })
}

// SaveWebhooks implements webhook.Store.
func (m *postman) SaveWebhooks(
	ctx context.Context, list []rewards.WebhookProgress,
) (stale map[rewards.WebhookEndpointID]bool, err error) {
	err = m.do("save", func() (err error) {
		stale, err = m.Store.SaveWebhooks(ctx, list)
		return err
	})
	return stale, err
}
