package admission_test

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/admission"
)

// delay sends a wrong key and returns how long its answer is delayed.
func delay(t *testing.T, s *admission.KeyThrottle, address string) time.Duration {
	t.Helper()
	began := time.Now()
	if !s.Delay(t.Context(), netip.MustParseAddr(address)) {
		t.Errorf("%s: one answer at a time is too many", address)
	}
	return time.Since(began)
}

func TestDelaysGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s admission.KeyThrottle
		for i := range 10 {
			if d := delay(t, &s, "192.0.2.1"); d != 0 {
				t.Errorf("wrong key %d is delayed by %s", i+1, d)
			}
		}
		last := time.Duration(0)
		for i := range 10 {
			d := delay(t, &s, "192.0.2.1")
			if d < 10*time.Millisecond/2 || d < last || d > time.Second {
				t.Errorf("wrong key %d is delayed by %s, after %s", i+11, d, last)
			}
			last = d
		}
		if last != time.Second {
			t.Errorf("in the end the delay is %s, want 1s", last)
		}
		for _, other := range []string{"192.0.2.2", "2001:db8::1"} {
			if d := delay(t, &s, other); d != 0 {
				t.Errorf("%s, which sent one, is delayed by %s", other, d)
			}
		}
		time.Sleep(10 * time.Minute)
		if d := delay(t, &s, "192.0.2.1"); d != 0 {
			t.Errorf("ten minutes later it is still %s", d)
		}
	})
}

// An address may be written in several ways, and of IPv6 the network counts.
func TestOneStrangerHasManyAddresses(t *testing.T) {
	t.Parallel()
	for name, pair := range map[string][3]string{
		"IPv4 in IPv6": {"192.0.2.1", "::ffff:192.0.2.1", "::ffff:192.0.2.2"},
		"IPv6":         {"2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1"},
		"zone":         {"fe80::1", "fe80::2%eth0", "fe80:0:0:1::1%eth0"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var s admission.KeyThrottle
			for range 15 {
				delay(t, &s, pair[0])
			}
			if d := delay(t, &s, pair[1]); d == 0 {
				t.Errorf("%s: %s is not %s", name, pair[1], pair[0])
			}
			if d := delay(t, &s, pair[2]); d != 0 {
				t.Errorf("%s: %s is %s", name, pair[2], pair[0])
			}
		})
	}
}

func TestHeldAnswersAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s admission.KeyThrottle
		ctx, leave := context.WithCancel(t.Context())
		var refused atomic.Int64
		var warm sync.WaitGroup
		addresses := make([]netip.Addr, 40)
		for i := range addresses {
			addresses[i] = netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
			warm.Go(func() {
				for range 20 {
					s.Delay(t.Context(), addresses[i])
				}
			})
		}
		warm.Wait()
		for i, address := range addresses {
			before := refused.Load()
			for range 20 {
				go func() {
					if !s.Delay(ctx, address) {
						refused.Add(1)
					}
				}()
			}
			synctest.Wait()
			if got := refused.Load() - before; i == 0 && got != 4 {
				t.Errorf("%d of 20 answers of one address are not held, want 4", got)
			}
		}
		if got := refused.Load(); got != 40*20-256 {
			t.Errorf("%d of 800 answers are not held, want all but 256", got)
		}
		leave() // who leaves makes room
		synctest.Wait()
		if d := delay(t, &s, "10.0.0.1"); d == 0 {
			t.Error("no answer is held any more")
		}
	})
}

// However many addresses come, who goes on sending wrong keys is delayed, and memory is
// bounded.
func TestAddressesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s admission.KeyThrottle
		const addresses = 100_000
		for i := range addresses {
			s.Delay(t.Context(), netip.AddrFrom4([4]byte{byte(i >> 16), byte(i >> 8), byte(i), 1}))
		}
		if n := s.Seen(); n != 4096 {
			t.Errorf("%d addresses are remembered, want 4096", n)
		}
	})
}
