package admission

import (
	"context"

	"stockrewards/internal/rewards"
)

// The bounds of request bodies in memory, of all apps. A body of at most smallBody does not count.
const (
	maxBodies = 32 << 20 // bytes
	smallBody = 16 << 10
)

// Hold waits until the bytes of the request's body fit into the service's memory, in order of arrival. They count until
// the request is answered. It fails with CodeUnavailable when the wait is too long.
func (t *Ticket) Hold(ctx context.Context, bytes int64) error {
	if t.state != working || bytes <= smallBody {
		return nil
	}
	bodies := t.lane.gate.bodies
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := bodies.Acquire(within, bytes); err != nil {
		return rewards.Unavailable("the service is busy with large requests", err)
	}
	t.held += bytes
	return nil
}

// letGo ends what Hold counted.
func (t *Ticket) letGo() {
	if t.held > 0 {
		t.lane.gate.bodies.Release(t.held)
		t.held = 0
	}
}
