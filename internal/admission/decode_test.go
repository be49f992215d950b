package admission_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/admission"
	"stockrewards/internal/rewards"
)

const large = 45 << 10 // bytes of a body

// decoding is a request that has asked for its turn to decode a large body.
type decoding struct {
	*visit

	turn chan error // closed when it has its turn, or was refused
}

// decode sends a request with a large body, up to its turn.
func (w *world) decode(a rewards.App, kind admission.Kind) decoding {
	w.Helper()
	d := decoding{w.enter(w.Context(), a, kind), make(chan error, 1)}
	if !d.entered() {
		w.Fatal("the request has no place")
	}
	go func() { d.turn <- d.ticket.Decode(context.WithoutCancel(w.Context()), large) }()
	synctest.Wait()
	return d
}

func (d decoding) began() bool {
	synctest.Wait()
	return len(d.turn) > 0
}

// While another app sends, an app decodes one large body at a time, and rests as long after it. A small one needs no turn.
// Others wait for none of it.
func TestLargeBodiesAreDecodedInTurn(t *testing.T) {
	t.Parallel()
	run(t, func(w *world) {
		w.pass(app(2), admission.Write, "another app")
		first, second, third := w.decode(app(1), admission.Write), w.decode(app(1), admission.Write), w.decode(app(1), admission.Batch)
		if !first.began() || second.began() || third.began() {
			w.Fatal("want one to be decoded")
		}
		small := w.enter(w.Context(), app(1), admission.Write)
		if err := small.ticket.Decode(w.Context(), 4<<10); err != nil {
			w.Error(err)
		}
		if other := w.decode(app(3), admission.Write); !other.began() {
			w.Error("an app waits for another one's turn")
		}
		time.Sleep(4 * time.Millisecond)
		first.ticket.Decoded() // it waits for its commit
		first.ticket.Decoded()
		time.Sleep(4*time.Millisecond - 1)
		if second.began() {
			w.Error("the rest is shorter than the turn")
		}
		time.Sleep(time.Nanosecond)
		if !second.began() || third.began() {
			w.Error("the next turn does not begin after the rest")
		}
		second.ticket.Leave() // it was refused
		if !third.began() {
			w.Error("a turn does not end with its request")
		}
	})
}

// An app alone decodes as many as the processors can, and rests after none.
func TestAnAppAloneDecodesAtOnce(t *testing.T) {
	t.Parallel()
	run(t, func(w *world) {
		var list []decoding
		for range 100 {
			list = append(list, w.decode(app(1), admission.Write))
		}
		turns := 0
		for _, d := range list {
			if d.began() {
				turns++
			}
		}
		if turns < 2 || turns == len(list) || turns%2 != 0 {
			w.Fatalf("%d are decoded at once", turns)
		}
		time.Sleep(time.Second)
		list[0].ticket.Decoded()
		if !list[turns].began() || list[turns+1].began() {
			w.Error("not the next one follows at once")
		}
		for _, d := range list {
			<-d.turn
			d.ticket.Leave()
		}
	})
}

// A turn that does not come in time refuses the request.
func TestATurnThatDoesNotCome(t *testing.T) {
	t.Parallel()
	run(t, func(w *world) {
		w.pass(app(2), admission.Write, "another app")
		holds, waits := w.decode(app(1), admission.Write), w.decode(app(1), admission.Write)
		time.Sleep(5 * time.Second)
		if err := <-waits.turn; rewards.CodeOf(err) != rewards.CodeUnavailable {
			w.Errorf("after five seconds: %v", err)
		}
		waits.ticket.Leave()
		holds.ticket.Leave()
		if next := w.decode(app(1), admission.Write); !next.began() {
			w.Error("the refused request has kept its turn")
		}
	})
}
