package webhook

import (
	"context"
	"slices"
	"time"

	"stockrewards/internal/rewards"
)

// mostForwarded limits the deliveries that wait for a retry. Beyond it no further event is taken.
const mostForwarded = 1000

// Forwarder sends events to the receiver of a developer, with the headers and bodies that an endpoint
// gets. It makes one attempt at a time. First attempts are in the order of the events, and events
// that wait for a retry hold up no others. It keeps everything in memory.
type Forwarder struct {
	Sender   Deliverer
	URL      string
	Secret   []byte          // signs each request
	Schedule []time.Duration // the pauses before retries
	Now      func() time.Time
	Random   func(n int64) int64 // from 0 to n-1
	// Report is called after each attempt with its outcome, and how long it took.
	Report func(d rewards.Delivery, took time.Duration)

	waiting []rewards.Delivery // for a retry
	last    int64              // the sequence of the newest event that was taken
}

// NewForwarded returns the delivery of an event of the feed. data is its data as JSON.
func NewForwarded(id rewards.EventID, eventType string, sequence int64, at time.Time, data []byte) rewards.Delivery {
	return rewards.Delivery{
		EventID: id, Type: eventType, Sequence: sequence, Status: rewards.DeliveryPending,
		Body: message(eventType, at, data),
	}
}

// Run sends events until ctx ends. Call it once.
func (f *Forwarder) Run(ctx context.Context, events <-chan rewards.Delivery) {
	for ctx.Err() == nil {
		from := events
		if len(f.waiting) >= mostForwarded {
			from = nil
		}
		next := f.next()
		wait := idleCheck
		if next >= 0 {
			wait = f.waiting[next].NextAt.Sub(f.Now())
		}
		timer := time.NewTimer(wait)
		select {
		case d := <-from:
			f.last = d.Sequence
			f.attempt(ctx, d)
		case <-timer.C:
			if next >= 0 {
				d := f.waiting[next]
				f.waiting = slices.Delete(f.waiting, next, next+1)
				f.attempt(ctx, d)
			}
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// next returns the index of the delivery that is due first, or -1 when no delivery waits.
func (f *Forwarder) next() int {
	next := -1
	for i, d := range f.waiting {
		if next < 0 || d.NextAt.Before(f.waiting[next].NextAt) {
			next = i
		}
	}
	return next
}

// attempt makes one attempt. One that the end of ctx interrupts does not count.
func (f *Forwarder) attempt(ctx context.Context, d rewards.Delivery) {
	began := f.Now()
	answer := f.Sender.Send(ctx, Request{
		URL: f.URL, ID: d.EventID, Sequence: d.Sequence, Body: d.Body, Secrets: [][]byte{f.Secret}, At: began,
	})
	if ctx.Err() != nil && !answer.Success() {
		f.waiting = append(f.waiting, d)
		return
	}
	ended := f.Now()
	d = d.After(answer, ended, f.Schedule, f.Random)
	if d.Status == rewards.DeliveryPending && !answer.Gone() {
		f.waiting = append(f.waiting, d)
	}
	f.Report(d, ended.Sub(began))
}

// Rest returns how many events wait for a retry, and the sequence after which they and all further
// events come; 0 when no event was taken. Call it after Run.
func (f *Forwarder) Rest() (waiting int, after int64) {
	after = f.last
	for _, d := range f.waiting {
		after = min(after, d.Sequence-1)
	}
	return len(f.waiting), after
}
