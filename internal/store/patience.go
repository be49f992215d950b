package store

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

// patience lets patient writers write one after the other, with pauses while clients write now and then. They write
// much, and are not urgent.
type patience struct {
	turn chan struct{} // has an element while one of them writes

	// Only the writer whose turn it is uses these.
	wrote time.Time     // when the last one ended
	held  time.Duration // how long it took, without its sync
}

func newPatience() *patience { return &patience{turn: make(chan struct{}, 1)} }

// begin waits for the writer's turn and for the pause after the last one. Unless it fails, call end afterwards.
func (p *patience) begin(ctx context.Context, pacer *pacer) error {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	for rest := pacer.restPatiently(p.wrote, p.held); rest > 0; rest = pacer.restPatiently(p.wrote, p.held) {
		if err := Sleep(ctx, rest); err != nil {
			<-p.turn
			return err
		}
	}
	return nil
}

// end ends the turn of a writer whose write began at a time.
func (p *patience) end(began time.Time) {
	p.wrote = time.Now()
	p.held = p.wrote.Sub(began)
	<-p.turn
}

// restPatiently is how long a patient writer must pause before it looks again.
func (p *pacer) restPatiently(wrote time.Time, held time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	return min(wrote.Add(pause(held, p.clientsPause())).Sub(now), p.clientsSeen.Add(clientsGone).Sub(now))
}

// WritePatiently is Write for what may be large and may wait. When clients do not wait for a Write, it is the same.
func (e *watched) WritePatiently(ctx context.Context, f func(context.Context, Tx) error) error {
	if e.pacer.concurrent {
		return e.Write(ctx, f)
	}
	if err := e.patience.begin(ctx, e.pacer); err != nil {
		return rewards.Unavailable("the database is busy", err)
	}
	return e.durably(ctx, e.writeInTurn(ctx, f))
}

// writeInTurn writes, and ends the turn that has begun, also when f panics: others wait for it.
func (e *watched) writeInTurn(ctx context.Context, f func(context.Context, Tx) error) error {
	began := time.Now()
	defer func() { e.patience.end(began) }()
	return e.paced(ctx, e.Engine.Write, func(ctx context.Context, tx Tx) error {
		began = time.Now()
		return f(ctx, tx)
	})
}
