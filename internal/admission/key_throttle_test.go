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

// delay sends an invalid key and returns the delay of its response.
func delay(t *testing.T, s *admission.KeyThrottle, address string) time.Duration {
	t.Helper()
	began := time.Now()
	if !s.Delay(t.Context(), netip.MustParseAddr(address)) {
		t.Errorf("%s: a single response is too many", address)
	}
	return time.Since(began)
}

func TestDelaysGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s admission.KeyThrottle
		for i := range 10 {
			if d := delay(t, &s, "192.0.2.1"); d != 0 {
				t.Errorf("invalid key %d is delayed by %s", i+1, d)
			}
		}
		last := time.Duration(0)
		for i := range 10 {
			d := delay(t, &s, "192.0.2.1")
			if d < 10*time.Millisecond/2 || d < last || d > time.Second {
				t.Errorf("invalid key %d is delayed by %s, after %s", i+11, d, last)
			}
			last = d
		}
		if last != time.Second {
			t.Errorf("in the end the delay is %s, want 1s", last)
		}
		for _, other := range []string{"192.0.2.2", "2001:db8::1"} {
			if d := delay(t, &s, other); d != 0 {
				t.Errorf("%s is delayed for its first invalid key by %s", other, d)
			}
		}
		time.Sleep(10 * time.Minute)
		if d := delay(t, &s, "192.0.2.1"); d != 0 {
			t.Errorf("ten minutes later it is still %s", d)
		}
	})
}

// Spellings of one address, and addresses of one IPv6 /64, are one source.
func TestOneSourceHasManyAddresses(t *testing.T) {
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

func TestDelayedResponsesAreBounded(t *testing.T) {
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
				t.Errorf("%d of 20 responses to one address are not delayed, want 4", got)
			}
		}
		if got := refused.Load(); got != 40*20-256 {
			t.Errorf("%d of 800 responses are not delayed, want all but 256", got)
		}
		leave()
		synctest.Wait()
		if d := delay(t, &s, "10.0.0.1"); d == 0 {
			t.Error("responses that ended still count")
		}
	})
}

// Any number of addresses uses bounded memory.
func TestAddressesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s admission.KeyThrottle
		const addresses = 100_000
		for i := range addresses {
			s.Delay(t.Context(), netip.AddrFrom4([4]byte{byte(i >> 16), byte(i >> 8), byte(i), 1}))
		}
		if n := s.Sources(); n != 4096 {
			t.Errorf("%d addresses are in memory, want 4096", n)
		}
	})
}
