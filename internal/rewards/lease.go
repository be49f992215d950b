package rewards

import (
	"errors"
	"time"
)

// Lease makes one process the leader of fulfillment. Every state change of an order carries
// the lease's epoch; a change with an older epoch writes nothing.
type Lease struct {
	Holder string
	Epoch  int64 // zero: not the leader
	Until  time.Time
	// Timeline is that of the database's server. One that takes over begins another, and may have lost the last
	// commits. "" where no other server can take over.
	Timeline string
	// Loss is why the store may lack orders that a process has sent.
	Loss Loss
}

// Loss is why a store may lack orders that a process has sent.
type Loss int

// The reasons. Of two the one that comes last here counts.
const (
	NoLoss      Loss = iota
	OtherServer      // another server took over: see Lease.In
	WentBack         // the store shows an older lease than the one that the process knew: see Lease.After
)

// In returns the lease as a server of a timeline must take it: it has ended when it is of another one. So whoever leads
// next, also the same process, begins a new epoch and compares its orders with the broker's first.
func (l Lease) In(timeline string) Lease {
	if l.Timeline == timeline {
		return l
	}
	loss := NoLoss
	if l.Epoch > 0 {
		loss = max(l.Loss, OtherServer)
	}
	return Lease{Epoch: l.Epoch, Timeline: timeline, Loss: loss}
}

// After returns the lease as a process must take it that knows another. A store that shows an older one went back in
// time, as when a backup was restored while the process ran: it may lack orders that the broker has. The next epoch is
// one that nobody had, so whoever leads compares its orders with the broker's first. A lease that its holder ended
// early, with a zero Until, is not older.
func (l Lease) After(known Lease) Lease {
	notRenewed := l.Epoch == known.Epoch && l.Holder == known.Holder && !l.Until.IsZero() && l.Until.Before(known.Until)
	if l.Epoch < known.Epoch || notRenewed {
		l.Epoch, l.Loss = known.Epoch, WentBack
	}
	return l
}

// Held reports whether the lease has not expired.
func (l Lease) Held(now time.Time) bool { return l.Epoch > 0 && now.Before(l.Until) }

// LatestEnd is when a lease can end that is taken for the time ttl by a right clock. A later end is of a clock that was
// ahead: such a lease has ended, otherwise nobody would lead until then.
func LatestEnd(now time.Time, ttl time.Duration) time.Time { return now.Add(ttl + MaxClockSkew) }

// Next returns the lease that a process gets at now, or false while another holder's lease
// runs and force is not set. The holder renews its lease in the same epoch, unless the store went back in time. A new
// leader gets a higher one, which voids every write of the leaders before.
func (l Lease) Next(holder string, now time.Time, ttl time.Duration, force bool) (Lease, bool) {
	if l.Holder != holder && !force && now.Before(l.Until) && !l.Until.After(LatestEnd(now, ttl)) {
		return Lease{Loss: l.Loss}, false
	}
	if l.Holder != holder || l.Loss == WentBack {
		l.Epoch++
	}
	return Lease{Holder: holder, Epoch: l.Epoch, Until: now.Add(ttl), Timeline: l.Timeline, Loss: l.Loss}, true
}

// The errors of a write on behalf of the fulfillment leader. Nothing was written.
var (
	// ErrLostLease means that another process leads fulfillment now.
	ErrLostLease = errors.New("another process leads fulfillment now")
	// ErrStale means that the order, reward or action changed after the caller read it.
	ErrStale = errors.New("the stored state changed in the meantime")
)
