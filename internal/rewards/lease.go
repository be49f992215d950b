package rewards

import "time"

// Next returns the lease that a process gets at now, or false while another holder's lease
// runs and force is not set. The holder renews its lease in the same epoch. A new leader
// gets a higher one, which voids every write of the leaders before.
func (l Lease) Next(holder string, now time.Time, ttl time.Duration, force bool) (Lease, bool) {
	if l.Holder != holder {
		if !force && now.Before(l.Until) {
			return Lease{}, false
		}
		l.Epoch++
	}
	return Lease{Holder: holder, Epoch: l.Epoch, Until: now.Add(ttl)}, true
}
