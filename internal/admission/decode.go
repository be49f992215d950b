package admission

import (
	"context"
	"time"
)

// longestRest bounds the rest after a turn, in which the process or the machine may have been halted.
const longestRest = time.Second

// largeBody is the size from which on a body is decoded in turn: the processors have work for milliseconds with it.
const largeBody = 4 << 10 // bytes

// Decode waits for the app's turn to decode a body of that many bytes, in order of arrival. While another app sends
// too, an app decodes one large body at a time, and rests after it for as long as that took. So others find the
// processors idle half of the time, also when all its bodies are refused. It fails with CodeUnavailable when the
// wait is too long. Decoded ends the turn.
func (t *Ticket) Decode(ctx context.Context, bytes int) error {
	if t.state != working || bytes <= largeBody {
		return nil
	}
	if w := t.lane.begin(decode); w != nil {
		if err := t.lane.wait(ctx, w, decode); err != nil {
			return err
		}
	}
	t.decoding = time.Now()
	return nil
}

// Decoded ends the turn that Decode began. Further calls do nothing.
func (t *Ticket) Decoded() {
	if t.decoding.IsZero() {
		return
	}
	took := min(time.Since(t.decoding), longestRest)
	t.decoding = time.Time{}
	t.lane.mu.Lock()
	defer t.lane.mu.Unlock()
	if !t.lane.gate.isShared() {
		took = 0
	}
	t.lane.restThenVacate(decode, took)
}
