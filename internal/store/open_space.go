package store

import (
	"context"
	"sync/atomic"
)

// openSpace keeps open_rewards small over PostgreSQL. Its rows live until their rewards are final. PostgreSQL keeps
// their space until a vacuum, and whoever looks for what waits walks over their entries.
type openSpace struct {
	vacuumer Vacuumer     // nil over SQLite
	booked   atomic.Int64 // members of orders, by this process

	vacuumed int64 // booked at the last vacuum
	seen     int64 // booked at the last call of ShrinkOpen
	shrunk   int64 // booked when ShrinkOpen left nothing to do
}

// VacuumOpen frees the space of rows of open_rewards for new ones, when this process has removed atLeast of them since
// the last time. PostgreSQL would do it once a minute. Of VacuumOpen and ShrinkOpen one call runs at a time.
func (s *Store) VacuumOpen(ctx context.Context, atLeast int64) error {
	o := &s.open
	booked := o.booked.Load()
	if o.vacuumer == nil || booked-o.vacuumed < atLeast {
		return nil
	}
	err := o.vacuumer.Vacuum(ctx, "open_rewards")
	if err == nil {
		o.vacuumed = booked
	}
	return err
}

// ShrinkOpen gives the space that open_rewards needed for a backlog back to the disk, when this process has booked
// atMost rewards or fewer since the call before. It reports whether it must try again later, mostly because somebody
// used the table.
func (s *Store) ShrinkOpen(ctx context.Context, atMost int64) (again bool, err error) {
	o := &s.open
	booked, before := o.booked.Load(), o.seen
	o.seen = booked
	if o.vacuumer == nil || booked == o.shrunk || booked-before > atMost {
		return false, nil
	}
	done, err := o.vacuumer.Shrink(ctx, "open_rewards")
	if done {
		o.shrunk = booked
	}
	return !done, err
}
