package webhook

import (
	"context"
	"slices"

	"stockrewards/internal/rewards"
)

// outcome is a delivery after an attempt.
type outcome struct {
	rewards.Delivery

	fresh bool // the store had no row of it before the attempt
}

// outcomes are deliveries, by sequence, whose outcomes are not stored yet.
type outcomes struct {
	list  map[int64]outcome
	bytes int
}

func newOutcomes() outcomes { return outcomes{list: make(map[int64]outcome)} }

func (o *outcomes) put(d outcome) {
	o.bytes += d.Size() - o.list[d.Sequence].Size()
	o.list[d.Sequence] = d
}

func (o *outcomes) has(sequence int64) bool {
	_, found := o.list[sequence]
	return found
}

// fullBy reports whether outcomes are together more than a number or a size.
func fullBy(number, bytes int, all ...outcomes) bool {
	for _, o := range all {
		number -= len(o.list)
		bytes -= o.bytes
	}
	return number < 0 || bytes < 0
}

// save stores the progress of the couriers that have some, first of those that were stored longest ago. Unless all is
// set, it leaves the rest for the next step when it has taken long.
func (d *Dispatcher) save(ctx context.Context, all bool) {
	var list []*courier
	counts := rewards.WebhookCounts{Locked: d.locked}
	began := d.now()
	for _, c := range d.couriers {
		e, due := c.state(began, all)
		if due {
			list = append(list, c)
		}
		counts.Add(e, c.oldest())
	}
	d.mu.Lock()
	d.counts = counts
	d.mu.Unlock()
	slices.SortFunc(list, func(a, b *courier) int { return a.saved.Compare(b.saved) })
	var some batch
	for _, c := range list {
		now := d.now()
		if !all && now.Sub(began) >= saveTime {
			break
		}
		p := c.progress(now)
		if !some.fits(p) {
			d.saveSome(ctx, some.list)
			some = batch{}
		}
		some.add(p)
	}
	if len(some.list) > 0 {
		d.saveSome(ctx, some.list)
	}
}

// batch is the progress of endpoints that is stored in one transaction. Others wait for it, so it is small, unless a
// single endpoint has much.
type batch struct {
	list              []rewards.WebhookProgress
	deliveries, bytes int
}

func (b *batch) fits(p rewards.WebhookProgress) bool {
	const mostDeliveries, mostBytes = 500, 256 << 10
	return len(b.list) == 0 || b.deliveries+len(p.Deliveries) <= mostDeliveries && b.bytes+p.Size() <= mostBytes
}

func (b *batch) add(p rewards.WebhookProgress) {
	b.list = append(b.list, p)
	b.deliveries += len(p.Deliveries)
	b.bytes += p.Size()
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
