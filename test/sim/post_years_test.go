package sim

import (
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

var postYears = flag.Int("post-years", 2, "number of seeds to simulate with webhooks, reversals and budgets, beginning with -seed")

// newPost has the apps of a lab follow their events.
func newPost(l *lab) *post {
	p := &post{lab: l, boxes: map[string]*box{}}
	l.reversed = map[*given]money.USD{}
	for app := range apps {
		p.addBox(app, 0)
		p.addBox(app, rewards.EventRewardFailed|rewards.EventReversalCompleted)
		p.readers = append(p.readers, &eventReader{app: app, types: rewards.AllEvents})
	}
	for app := range apps {
		p.readers = append(p.readers, &eventReader{app: app, types: rewards.EventRewardFailed | rewards.EventReversalCompleted})
	}
	p.setBudgets()
	return p
}

// sitting has clients take awards back and follow the events, while receivers change their minds.
func (p *post) sitting() {
	if p == nil || p.t.Failed() {
		return
	}
	for range p.random.IntN(4) {
		p.takeBack()
	}
	p.askTakings()
	for _, b := range p.list {
		p.mu.Lock()
		b.mood = moods()[p.random.IntN(len(moods()))]
		p.mu.Unlock()
		switch p.random.IntN(8) {
		case 0:
			p.change(b, func(e *rewards.WebhookEndpoint) { e.Disable(rewards.DisabledByApp) })
		case 1, 2, 3:
			p.change(b, (*rewards.WebhookEndpoint).Enable)
		case 4:
			_, err := p.store.AddWebhookTest(p.t.Context(), p.apps[b.app].ID, b.id)
			p.check(err)
		case 5:
			p.replay(b)
		}
	}
	if len(p.list) < 4*apps && p.random.IntN(4) == 0 {
		p.addBox(p.random.IntN(apps), 0)
	}
	const steps = 6
	p.follow()
	p.open(steps, 8*time.Second)
	p.gather()
	p.unfinished()
	p.checkSeen()
	if p.random.IntN(20) == 0 {
		p.verifyBudgets()
	}
}

// replay has an endpoint get some of the last events again.
func (p *post) replay(b *box) {
	const most = 200
	list := p.feedOf(b.app)
	if list = list[max(0, len(list)-most):]; len(list) == 0 {
		return
	}
	after := list[p.random.IntN(len(list))].sequence
	p.change(b, func(e *rewards.WebhookEndpoint) { e.ReplayFrom(after) })
	p.mu.Lock()
	defer p.mu.Unlock()
	b.after = min(b.after, after)
	b.newest = min(b.newest, after)
}

// comeBack heals every receiver and checks that each gets what it missed.
func (p *post) comeBack() {
	if p.t.Failed() {
		return
	}
	p.calm = true
	for p.askTakings() > 0 {
	}
	for _, b := range p.list {
		b.mood = moodHealthy
		p.change(b, (*rewards.WebhookEndpoint).Enable)
	}
	p.deliverAll("after receivers come back everything is delivered")
	for _, b := range p.list { // what failed, and what a receiver lost
		p.change(b, func(e *rewards.WebhookEndpoint) { e.ReplayFrom(b.after) })
		b.newest = min(b.newest, b.after)
	}
	p.deliverAll("a replay delivers everything")
	for _, b := range p.list {
		for _, e := range p.feedOf(b.app) {
			if e.sequence > b.after && e.kind&b.types != 0 && !b.kept[e.sequence] {
				p.violate("in the end every receiver has every event", "webhooks", "%+v is missing", e)
				return
			}
		}
	}
}

// deliverAll lets time pass until nothing must be delivered.
func (p *post) deliverAll(promise string) {
	const most = 12
	for range most {
		p.open(4, 10*time.Minute)
		if p.unfinished() == 0 || p.t.Failed() {
			return
		}
	}
	p.violate(promise, "webhooks", "%d deliveries are left", p.unfinished())
}

// verifyEnds checks the feed, the reversals and the budgets in the end.
func (p *post) verifyEnds() {
	if p == nil {
		return
	}
	p.verifyFeed()
	p.verifyBudgets()
	for _, t := range p.takings {
		if t.id == "" {
			continue
		}
		var got struct{ Reversal struct{ Status string } }
		p.world.ask(t.g.app, "GET", "/v1/reversals/"+t.id, "", 200, &got)
		if got.Reversal.Status != "completed" {
			p.violate("in the end every reversal is completed", t.g.key, "%s is %s", t.key, got.Reversal.Status)
		}
	}
}

// TestYearsOfEvents simulates trading days under faults, with receivers of webhooks that fail, hang, refuse
// and lie, readers of the feed, reversals and budgets. The dispatchers' goroutines may run in another order
// when a seed is repeated.
func TestYearsOfEvents(t *testing.T) {
	t.Parallel()
	for n := range *postYears {
		seed := *seed + uint64(n)
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			var p *post
			var o outcome
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(yearBegin().AddDate(0, 0, -1)))
				l := newLab(t, seed, configOf(seed))
				p = newPost(l)
				l.mail = p
				o = l.lifetime(*days)
			})
			events, requests := 0, 0
			for _, r := range p.readers {
				events += len(r.list)
			}
			for _, b := range p.list {
				requests += b.requests
			}
			t.Logf("%d rewards %v, %d reversals, %d faults, %d starts; %d events read, %d requests to %d endpoints", o.rewards,
				o.statuses, len(p.takings), o.faults, o.starts, events, requests, len(p.list))
			if !t.Failed() && (len(p.takings) == 0 || events == 0 || requests == 0) {
				t.Error("too little happened")
			}
		})
	}
}
