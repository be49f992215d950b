package sim

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"stockrewards/internal/rewards"
)

// feedEvent is an event as a client read it.
type feedEvent struct {
	sequence int64
	id       string
	kind     rewards.EventType
	about    string // the id of its reward or reversal
}

// eventReader follows an app's feed, from any process, by pages and by requests that wait.
type eventReader struct {
	app   int
	types rewards.EventTypes
	after int64
	list  []feedEvent
	poll  *call // under way; nil: none
	ended chan struct{}
	from  *process
	name  string // of the process when it was asked

	barred bool // the app could be refused when it was asked
}

// path is the next request of the reader.
func (r *eventReader) path(limit, wait int) string {
	return fmt.Sprintf("/v1/events?after=%d&limit=%d&types=%s&wait=%d", r.after, limit, r.types, wait)
}

// follow has every reader read a page, or wait for events while time passes.
func (p *post) follow() {
	for _, r := range p.readers {
		proc := p.randomProcess()
		switch {
		case r.poll != nil:
		case p.random.IntN(2) == 0:
			p.page(r, proc, 1+p.random.IntN(20))
		default:
			r.poll = &call{app: r.app, method: http.MethodGet, path: r.path(1+p.random.IntN(20), 1+p.random.IntN(20))}
			r.ended, r.from, r.name, r.barred = make(chan struct{}), proc, proc.name, p.barred(r.app)
			handler, key, c, ended := proc.handler, p.keys[r.app], r.poll, r.ended
			go func() { c.run(context.WithoutCancel(p.t.Context()), handler, key); close(ended) }()
		}
	}
}

// gather takes in the answers to the requests that waited. That of a dead process never came.
func (p *post) gather() {
	for _, r := range p.readers {
		if r.poll == nil {
			continue
		}
		<-r.ended
		c := r.poll
		r.poll = nil
		if r.from.dead || r.from.name != r.name || c.status == http.StatusUnauthorized || // its key was replaced
			c.status == http.StatusForbidden && r.barred {
			continue
		}
		p.take(r, c)
	}
}

// page reads one page and reports whether it had events.
func (p *post) page(r *eventReader, proc *process, limit int) bool {
	c := &call{app: r.app, method: http.MethodGet, path: r.path(limit, 0)}
	p.ask(proc, c)
	before := len(r.list)
	p.take(r, c)
	return len(r.list) > before
}

// take checks a page and adds its events to what the reader has.
func (p *post) take(r *eventReader, c *call) {
	if p.excused(c) {
		return
	}
	if c.status != http.StatusOK {
		p.violate("the feed can be read", "feed", "%s: %d %s", c.path, c.status, c.text)
		return
	}
	var page struct {
		Events []struct {
			ID, Type string
			Sequence int64
			Data     struct {
				Reward   struct{ ID, Status string }
				Reversal struct{ ID, Status string }
			}
		}
	}
	p.check(json.Unmarshal(c.text, &page))
	for _, e := range page.Events {
		kind, known := rewards.ParseEventType(e.Type)
		about := cmp.Or(e.Data.Reward.ID, e.Data.Reversal.ID)
		status := cmp.Or(e.Data.Reward.Status, e.Data.Reversal.Status)
		if !known || kind&r.types == 0 || e.Sequence <= r.after || !strings.HasSuffix(e.Type, "."+status) {
			p.violate("events come in order, with their subject as it became", "feed", "%s: %+v after %d", c.path, e, r.after)
		}
		r.after = e.Sequence
		r.list = append(r.list, feedEvent{e.Sequence, e.ID, kind, about})
	}
}

// drain reads until there are no more events. It reports false when a process did not answer.
func (p *post) drain(r *eventReader) bool {
	for {
		c := &call{app: r.app, method: http.MethodGet, path: r.path(200, 0)}
		p.ask(p.randomProcess(), c)
		before := len(r.list)
		if p.excused(c) {
			return false
		}
		p.take(r, c)
		if len(r.list) == before {
			return true
		}
	}
}

// feed is what the store has of an app's feed.
type feed struct {
	list  []feedEvent
	after int64
}

// feedOf reads the whole feed of an app, beginning with what was not read before.
func (p *post) feedOf(app int) []feedEvent {
	f := &p.feeds[app]
	for {
		page, err := p.store.EventsAfter(p.t.Context(), p.apps[app].ID, f.after, rewards.AllEvents, 200)
		p.check(err)
		for _, e := range page.Events {
			about := e.Reward.ID.String()
			if e.Type == rewards.EventReversalCompleted {
				about = e.Reversal.ID.String()
			}
			f.list = append(f.list, feedEvent{e.Sequence, e.ID.String(), e.Type, about})
		}
		if len(page.Events) == 0 {
			return f.list
		}
		f.after = page.Next
	}
}

// checkSeen checks that a client that saw a final award can read its event.
func (p *post) checkSeen() {
	r := p.readers[p.random.IntN(apps)]
	var final []*given
	for _, g := range p.given {
		if g.app == r.app && rank(g.status) == rank("executed") {
			final = append(final, g)
		}
	}
	if r.poll != nil || !p.drain(r) {
		return
	}
	count := map[string]int{}
	for _, e := range r.list {
		count[e.about]++
	}
	for _, g := range final {
		if count[g.id] != 1 {
			p.violate("whoever sees a final award can read its one event", g.key, "%d events", count[g.id])
		}
	}
}

// verifyFeed checks what all readers have against the whole feed, and the feed against the awards and
// reversals.
func (p *post) verifyFeed() {
	for _, r := range p.readers {
		for !p.drain(r) {
		}
		whole := slices.DeleteFunc(slices.Clone(p.feedOf(r.app)), func(e feedEvent) bool { return e.kind&r.types == 0 })
		if !slices.Equal(whole, r.list) {
			p.violate("a reader misses no event", "feed", "of app %d it has %d, the feed has %d", r.app, len(r.list), len(whole))
		}
	}
	want := map[string]rewards.EventType{}
	for _, g := range p.given {
		want[g.id], _ = rewards.ParseEventType("reward." + p.look(g).Status)
	}
	for _, t := range p.takings {
		if t.id != "" {
			want[t.id] = rewards.EventReversalCompleted
		}
	}
	for app := range apps {
		for _, e := range p.feedOf(app) {
			if want[e.about] != e.kind {
				p.violate("each end has one event", "feed", "%+v, want %s", e, want[e.about])
			}
			delete(want, e.about)
		}
	}
	for about, kind := range want {
		p.violate("each end has one event", "feed", "%s of %s is missing", kind, about)
	}
}
