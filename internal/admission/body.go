package admission

import (
	"context"
	"fmt"

	"stockrewards/internal/rewards"
)

// The bounds of request bodies in memory, of all apps and of one. A body of at most smallBody does not count.
const (
	maxBodies = 32 << 20 // bytes
	appBodies = maxBodies / 4
	smallBody = 16 << 10
)

// Hold waits until the bytes of the request's body fit into the memory of its app and of the service, in order of
// arrival. They count until the request is answered. It fails with CodeUnavailable when the wait is too long,
// and with ErrAppBusy as its cause when the memory of the app is full.
func (t *Ticket) Hold(ctx context.Context, bytes int64) error {
	if t.state != working || bytes <= smallBody {
		return nil
	}
	bytes = min(bytes, appBodies)
	own, all := t.lane.bodies, t.lane.gate.bodies
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := own.Acquire(within, bytes); err != nil {
		cause := fmt.Errorf("%w: %w", ErrAppBusy, err)
		return rewards.Unavailable("the service is busy with other large requests of this app", cause)
	}
	if err := all.Acquire(within, bytes); err != nil {
		own.Release(bytes)
		return rewards.Unavailable("the service is busy with large requests", err)
	}
	t.held += bytes
	return nil
}

// letGo ends what Hold counted.
func (t *Ticket) letGo() {
	if t.held > 0 {
		t.lane.bodies.Release(t.held)
		t.lane.gate.bodies.Release(t.held)
		t.held = 0
	}
}
