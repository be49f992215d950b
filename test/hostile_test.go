package test

import (
	"strings"
	"testing"
	"time"
)

const untilNoticed = 45 * time.Second

// awaitOutput runs a command until its output has a text, or has it no more.
func (s *service) awaitOutput(text string, there bool, args ...string) {
	s.t.Helper()
	for deadline := time.Now().Add(untilNoticed); ; time.Sleep(100 * time.Millisecond) {
		out := s.command(args...)
		if strings.Contains(out, text) == there {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%v: %q there: %t, want %t:\n%s", args, text, !there, there, out)
		}
	}
}

func (s *service) awaitAlarm(name string) {
	s.t.Helper()
	s.awaitOutput(name, true, "fulfillment", "status")
}

// inHostility starts a service over a hostile broker.
func inHostility(t *testing.T, story func(t *testing.T, s *service, h *hostile, user string)) {
	t.Helper()
	s, h := newCustomer(t), startHostile(t)
	s.start(h.flags()...)
	story(t, s, h, s.newUser("anna"))
}

// Fills that cannot be are put aside, and nothing is bought a second time.
func TestAHostileBrokersFillsAreNotBooked(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(map[string]any){
		"filled for a thousandth": fills("filled", "0.00005", "100"),
		"canceled at a cent":      fills("canceled", "0.05", "0.01"),
		"expired far too dear":    fills("expired", "0.005", "400"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inHostility(t, func(t *testing.T, s *service, h *hostile, user string) {
				h.lies(func() { h.fill = fill })
				r := s.give(user, "lied-about", "5", "AAPL")
				s.awaitOutput("AAPL", true, "order", "list", "--state", "quarantined")
				time.Sleep(3 * time.Second)
				s.await(r.ID, "executing", time.Second)
				if h.count() != 1 {
					t.Errorf("%d orders were sent, want one", h.count())
				}
			})
		})
	}
}

// A broker's clock of 2099 stops ordering with an alarm, and leaves nothing behind.
func TestAHostileBrokersClock(t *testing.T) {
	t.Parallel()
	inHostility(t, func(t *testing.T, s *service, h *hostile, user string) {
		s.await(s.give(user, "before-it", "5", "AAPL").ID, "executed", untilNoticed)
		h.lies(func() { h.ahead = 73 * 365 * 24 * time.Hour })
		s.awaitAlarm("broker_clock_refused")
		r := s.give(user, "meanwhile", "5", "AAPL")
		time.Sleep(3 * time.Second)
		s.await(r.ID, "recorded", time.Second)
		if h.count() != 1 {
			t.Errorf("%d orders were sent, want one", h.count())
		}
		h.lies(func() { h.ahead = 0 })
		s.await(r.ID, "executed", untilNoticed)
	})
}

// A trade of the future does not become the price, and does not freeze it.
func TestAHostileBrokersTrades(t *testing.T) {
	t.Parallel()
	inHostility(t, func(_ *testing.T, s *service, h *hostile, user string) {
		s.await(s.give(user, "the-first", "5", "AAPL").ID, "executed", untilNoticed)
		path := "/v1/users/" + user + "/portfolio"
		worth := func(value string) {
			s.t.Helper()
			for deadline := time.Now().Add(untilNoticed); ; time.Sleep(100 * time.Millisecond) {
				if a := s.must(200, "GET", path, ""); strings.Contains(string(a.body), `"value":`+value+`,`) {
					return
				} else if time.Now().After(deadline) {
					s.t.Fatalf("want a value of %s: %s", value, a.body)
				}
			}
		}
		worth("5")
		h.lies(func() { h.price, h.traded = "130", 73*365*24*time.Hour })
		time.Sleep(3 * time.Second)
		worth("5")
		h.lies(func() { h.price, h.traded = "101", 0 })
		worth("5.05")
		h.lies(func() { h.price, h.previous = "1", "" })
		s.within(untilNoticed, 502, "GET", path, "")
	})
}

// Another account behind the same address gets no order, until the right one is back.
func TestAHostileBrokersAccount(t *testing.T) {
	t.Parallel()
	inHostility(t, func(t *testing.T, s *service, h *hostile, user string) {
		s.await(s.give(user, "before-it", "5", "AAPL").ID, "executed", untilNoticed)
		mine, theirs := h.account, h.orders
		h.lies(func() { h.account, h.orders = "22222222-bbbb-4bbb-8bbb-222222222222", nil })
		s.awaitAlarm("broker_account_differs")
		r := s.give(user, "meanwhile", "5", "AAPL")
		time.Sleep(3 * time.Second)
		s.await(r.ID, "recorded", time.Second)
		if h.count() != 0 {
			t.Errorf("another account got %d orders", h.count())
		}
		h.lies(func() { h.account, h.orders = mine, theirs })
		s.await(r.ID, "executed", untilNoticed)
	})
}

// A booked order that the broker corrects while it works on another one stops ordering.
func TestAHostileBrokersCorrection(t *testing.T) {
	t.Parallel()
	inHostility(t, func(_ *testing.T, s *service, h *hostile, user string) {
		s.await(s.give(user, "is-booked", "5", "AAPL").ID, "executed", untilNoticed)
		h.lies(func() { h.fill = fills("new", "0", "0") })
		s.await(s.give(user, "is-open-still", "5", "KO").ID, "executing", untilNoticed)
		h.lies(func() { h.orders[0]["filled_qty"] = "0.01" })
		s.awaitAlarm("broker_conflict")
	})
}
