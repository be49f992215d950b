package webhook

import (
	"context"

	"stockrewards/internal/rewards"
)

// save stores the progress of the couriers that have some.
func (d *Dispatcher) save(ctx context.Context, all bool) {
	var list []rewards.WebhookProgress
	counts := rewards.WebhookCounts{Locked: d.locked}
	now := d.now()
	for _, c := range d.couriers {
		p, due := c.progress(now, all)
		if due {
			list = append(list, p)
		}
		counts.Add(p.Endpoint, c.oldest())
	}
	d.mu.Lock()
	d.counts = counts
	d.mu.Unlock()
	if len(list) == 0 {
		return
	}
	for len(list) > 0 {
		n := someOf(list)
		d.saveSome(ctx, list[:n])
		list = list[n:]
	}
}

// someOf returns how many endpoints to store in one transaction. Others wait for it, so it has few deliveries, unless
// a single endpoint has many.
func someOf(list []rewards.WebhookProgress) (n int) {
	const most = 500
	for deliveries := 0; n < len(list); n++ {
		deliveries += len(list[n].Deliveries)
		if n > 0 && deliveries > most {
			break
		}
	}
	return n
}

func (d *Dispatcher) saveSome(ctx context.Context, list []rewards.WebhookProgress) {
	stale, err := d.store.SaveWebhooks(ctx, list)
	d.report(ctx, "cannot store what was sent", err)
	for _, p := range list {
		d.couriers[p.Endpoint.ID].stored(err == nil)
		if stale[p.Endpoint.ID] { // begin again with what is stored
			d.couriers[p.Endpoint.ID].end()
			delete(d.couriers, p.Endpoint.ID)
			d.reload = true
		}
	}
	d.reload = d.reload || len(stale) > 0
}
