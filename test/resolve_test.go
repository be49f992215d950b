package test

import (
	"strings"
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
	var id string
	for deadline := time.Now().Add(20 * time.Second); id == ""; time.Sleep(50 * time.Millisecond) {
		rows := strings.Split(s.command("order", "list", "--state", "submitted"), "\n")
		if len(rows) > 2 && strings.Contains(rows[1], "forbidden") {
			id = strings.Fields(rows[1])[0]
		}
		if time.Now().After(deadline) {
			t.Fatal(s.logs())
		}
	}
	resolve := append([]string{"order", "resolve", id, "--not-bought", "--reason", "it never arrived"}, b.flags()...)
	b.blind.Store(true)
	if out, err := s.try(resolve...); err == nil || !strings.Contains(err.Error(), "cannot ask the broker") {
		t.Errorf("without the broker's word: %s, %v", out, err)
	}
	b.blind.Store(false)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		out, err := s.try(resolve...)
		if err == nil {
			break
		}
		if !strings.Contains(err.Error(), "repeat this in a minute") || time.Now().After(deadline) { // an attempt is being sent
			t.Fatalf("%s, %v", out, err)
		}
	}
	b.refuses.Store(false)
	s.await(r.ID, "executed", 20*time.Second)
	if out := s.command("order", "show", id); !strings.Contains(out, "it never arrived") || !strings.Contains(out, "settled") {
		t.Errorf("order show: %s", out)
	}
	s.command("audit")
}
