package test

import (
	"testing"
	"time"
)

// An operator resolves an order that the broker keeps refusing, while the service runs; the
// command first looks for it at the broker.
func TestResolvingAnOrderThatIsAlwaysRefused(t *testing.T) {
	t.Parallel()
	s := newCustomer(t)
	b := startBrokerage(t, "")
	b.refuses.Store(true)
	s.start(b.flags()...)
	r := s.give(s.newUser("anna"), "always-refused", "5", "AAPL")
	id := s.awaitOrder("submitted", "forbidden")
	resolve := append([]string{"order", "resolve", id, "--not-bought", "--reason", "it never arrived"}, b.flags()...)
	b.blind.Store(true)
	s.wantError("cannot ask the broker", resolve...)
	b.blind.Store(false)
	s.eventually("resolution", 10*time.Second, func() bool {
		out, err := s.try(resolve...)
		if err != nil { // an attempt is being sent
			fails(t, "repeat this in a minute")(out, err)
		}
		return err == nil
	})
	b.refuses.Store(false)
	s.await(r.ID, "executed", 20*time.Second)
	succeeds(t, "it never arrived", "settled")(s.try("order", "show", id))
	s.command("audit")
}
