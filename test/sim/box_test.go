package sim

import (
	"context"
	"fmt"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/webhook"
)

// The moods of receivers.
const (
	moodHealthy   = "healthy"
	moodFails     = "fails"     // it answers 500
	moodFlaky     = "flaky"     // the same to every other request
	moodHangs     = "hangs"     // it does not answer
	moodSlow      = "slow"      // it answers in time, barely
	moodGone      = "gone"      // it answers 410
	moodBusy      = "busy"      // it answers 429 with Retry-After
	moodRedirects = "redirects" // it answers 302
	moodLies      = "lies"      // it accepts and loses
)

func moods() []string {
	return []string{
		moodHealthy, moodHealthy, moodFails, moodFlaky, moodHangs, moodSlow, moodGone, moodBusy, moodRedirects, moodLies,
	}
}

// box is an endpoint of an app with its receiver. The post's mu guards it.
type box struct {
	app      int
	id       rewards.WebhookEndpointID
	types    rewards.EventTypes
	after    int64 // it gets the events after this sequence
	mood     string
	seen     map[int64]bool            // sequences of first attempts
	newest   int64                     // the last of them
	accepted map[int64]rewards.EventID // answered with 2xx, by sequence
	kept     map[int64]bool            // and not lost
	requests int
}

// addBox creates an endpoint.
func (p *post) addBox(app int, types rewards.EventTypes) {
	url := fmt.Sprintf("https://receiver-%d.example/", len(p.list))
	e, err := p.store.CreateWebhookEndpoint(p.t.Context(), rewards.WebhookEndpoint{
		AppID: p.apps[app].ID, URL: url, Types: types, Secret: rewards.SealedSecret("secret"),
	})
	p.check(err)
	b := &box{
		app: app, id: e.ID, types: e.Subscribed(), after: e.Cursor, mood: moodHealthy, newest: e.Cursor,
		seen: map[int64]bool{}, accepted: map[int64]rewards.EventID{}, kept: map[int64]bool{},
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.boxes[url], p.list = b, append(p.list, b)
}

// change stores a client's change of an endpoint.
func (p *post) change(b *box, change func(*rewards.WebhookEndpoint)) {
	_, err := p.store.ChangeWebhookEndpoint(p.t.Context(), p.apps[b.app].ID, b.id, change)
	p.check(err)
}

// Send implements webhook.Deliverer.
func (m *postman) Send(ctx context.Context, r webhook.Request) rewards.WebhookAnswer {
	if m.dead() {
		return rewards.WebhookAnswer{Error: "killed"}
	}
	p := m.post
	p.mu.Lock()
	b := p.boxes[r.URL]
	p.arrive(b, r)
	mood, n := b.mood, b.requests
	p.mu.Unlock()
	if r.Written != nil {
		r.Written()
	}
	if !p.calm && p.chance(2000, m.name, r.URL, r.Sequence, n) == 0 {
		m.kill()
	}
	return p.answer(ctx, b, r, mood, n)
}

// arrive notes a request. The caller holds mu.
func (p *post) arrive(b *box, r webhook.Request) {
	b.requests++
	if r.Sequence < 0 || b.seen[r.Sequence] {
		return
	}
	if r.Sequence <= b.newest {
		p.problems = append(p.problems, fmt.Sprintf("the first attempt of %d came after that of %d", r.Sequence, b.newest))
	}
	b.seen[r.Sequence], b.newest = true, r.Sequence
}

// answer is what a receiver in a mood answers to its n-th request.
func (p *post) answer(ctx context.Context, b *box, r webhook.Request, mood string, n int) rewards.WebhookAnswer {
	took := time.Duration(1+p.chance(30, r.URL, n)) * time.Millisecond
	switch mood {
	case moodHangs:
		took = 15 * time.Second
	case moodSlow:
		took = time.Duration(p.chance(14_000, r.URL, n)) * time.Millisecond
	}
	timer := time.NewTimer(took)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return rewards.WebhookAnswer{Error: "canceled"}
	}
	refusals := map[string]rewards.WebhookAnswer{
		moodFails: {StatusCode: 500, Error: "500"}, moodGone: {StatusCode: 410, Error: "410"},
		moodHangs: {Error: "no answer"}, moodRedirects: {StatusCode: 302, Error: "302"},
		moodBusy: {StatusCode: 429, Error: "429", RetryAfter: 40 * time.Second},
	}
	if mood == moodFlaky && n%2 == 0 {
		mood = moodFails
	}
	if refusal, refuses := refusals[mood]; refuses {
		return refusal
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b.accepted[r.Sequence] = r.ID
	b.kept[r.Sequence] = b.kept[r.Sequence] || mood != moodLies
	return rewards.WebhookAnswer{StatusCode: 204}
}

// unfinished checks every endpoint against the feed: each event up to the cursor was accepted, or has a
// delivery that is pending or has failed. It returns how many events must still be delivered.
func (p *post) unfinished() (left int) {
	ctx := p.t.Context()
	for _, b := range p.list {
		e, err := p.store.WebhookEndpoint(ctx, p.apps[b.app].ID, b.id)
		p.check(err)
		const most = 1 << 20
		list, err := p.store.Deliveries(ctx, e.AppID, e.ID, rewards.DeliveryPage{Limit: most})
		p.check(err)
		stored := map[int64]rewards.DeliveryStatus{}
		for _, d := range list {
			stored[d.Sequence] = d.Status
			if _, accepted := b.accepted[d.Sequence]; d.Status == rewards.DeliveryDelivered && !accepted {
				p.violate("what is delivered was accepted", "webhooks", "%+v of %s", d, e.URL)
			}
			if d.Status == rewards.DeliveryPending && !d.Test() {
				left++
			}
		}
		for _, event := range p.feedOf(b.app) {
			id, accepted := b.accepted[event.sequence]
			status := stored[event.sequence]
			switch {
			case event.sequence <= b.after || event.kind&b.types == 0:
				if accepted {
					p.violate("only events of the subscribed types are sent", "webhooks", "%+v to %s", event, e.URL)
				}
			case accepted && id.String() != event.id:
				p.violate("a webhook has the event's id", "webhooks", "%+v as %s", event, id)
			case event.sequence > e.Cursor:
				left++
			case !accepted && status != rewards.DeliveryPending && status != rewards.DeliveryFailed:
				p.violate("an event is delivered, or kept, or after the cursor", "webhooks", "%+v is not for %s at %d; it is %v",
					event, e.URL, e.Cursor, status)
			}
		}
	}
	return left
}
