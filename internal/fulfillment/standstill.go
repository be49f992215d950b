package fulfillment

import (
	"cmp"
	"context"
	"slices"
	"time"

	"stockrewards/internal/rewards"
)

// standstills are why nothing is ordered of which stocks. A step notes each; those that it did not
// note have ended. They are stored for the timelines of rewards, and never stop ordering by
// themselves.
type standstills struct {
	epoch   int64                                  // of the lease under which stored was read
	stored  map[rewards.AssetID]rewards.Standstill // nil before the first step
	now     map[rewards.AssetID]rewards.Standstill
	partial bool // the step did not look at everything: what it did not note stays
}

func (s *standstills) begin(epoch int64) {
	if s.epoch != epoch { // another process may have led since
		s.stored = nil
	}
	s.epoch, s.partial, s.now = epoch, false, make(map[rewards.AssetID]rewards.Standstill)
}

// stop notes that nothing is ordered of a stock, or of any stock (0). A jitter of the broker's clock
// does not count as another expected end.
func (s *standstills) stop(asset rewards.AssetID, cause rewards.Cause, expected time.Time) {
	const jitter = 2 * time.Second
	if before := s.stored[asset]; before.Cause == cause && before.Expected.Sub(expected).Abs() < jitter {
		expected = before.Expected
	}
	s.now[asset] = rewards.Standstill{AssetID: asset, Cause: cause, Expected: expected}
}

// end stores what has changed since the last step.
func (s *standstills) end(ctx context.Context, store ControlStore, l rewards.Lease) error {
	if l.Epoch != s.epoch { // the lease was lost during the step
		return nil
	}
	if s.stored == nil {
		list, err := store.Standstills(ctx)
		if err != nil {
			return err
		}
		s.stored = make(map[rewards.AssetID]rewards.Standstill, len(list))
		for _, stood := range list {
			s.stored[stood.AssetID] = stood
		}
	}
	var ended []rewards.AssetID
	var begun []rewards.Standstill
	next := make(map[rewards.AssetID]rewards.Standstill, len(s.now))
	for asset, before := range s.stored {
		now, stands := s.now[asset]
		if stands && now.Same(before) || !stands && s.partial {
			next[asset] = before
			continue
		}
		ended = append(ended, asset)
	}
	for asset, now := range s.now {
		if _, same := next[asset]; !same {
			next[asset] = now
			begun = append(begun, now)
		}
	}
	if len(ended)+len(begun) == 0 {
		return nil
	}
	slices.Sort(ended) // a run is repeatable
	slices.SortFunc(begun, func(a, b rewards.Standstill) int { return cmp.Compare(a.AssetID, b.AssetID) })
	err := store.SaveStandstills(ctx, l, ended, begun)
	if err == nil {
		s.stored = next
	}
	return err
}

// stopped notes why nothing is ordered at all.
func (w *Worker) stopped(control rewards.Control, compareErr error) {
	switch {
	case control.Paused != "":
		w.stands.stop(0, rewards.CausePaused, time.Time{})
	case control.Conflicts > 0:
		w.stands.stop(0, rewards.CauseConflict, time.Time{})
	case compareErr != nil || w.compared.failure != "":
		w.stands.stop(0, rewards.CauseBroker, time.Time{})
	}
}
