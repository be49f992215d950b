package store

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

// upgradeTakes is how long processes of an older program may still record while a fleet
// is upgraded.
const upgradeTakes = 24 * time.Hour

// beginLog writes the first rows of the operator log of books that are older than it:
// what operators had decided until then, so that the audit can compare; and from when
// on rewards and users are sealed. New books begin their log with their first app.
func (s *Store) beginLog(ctx context.Context, newest time.Time) error {
	needed := false
	err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) (err error) {
		needed, err = needsLog(ctx, tx)
		return err
	})
	if err != nil || !needed {
		return err
	}
	by := rewards.Operator{
		Actor: "stockrewards", Command: "log begin",
		Reason: "the books are older than the operator log: this is what operators had decided before",
	}
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		if needed, err := needsLog(ctx, tx); err != nil || !needed {
			return err
		}
		from := latest(s.now(), newest)
		if _, fleet := tx.(ColumnTx); fleet {
			from = from.Add(upgradeTakes)
		}
		text := from.Add(time.Millisecond).UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
		if err := setSetting(ctx, tx, settingSealedFrom, text); err != nil {
			return err
		}
		decided, err := decidedBefore(ctx, tx)
		if err != nil {
			return err
		}
		return logDeeds(ctx, tx, s.now(), by, decided)
	})
}

// readSealedFrom reads since when rewards and users are sealed.
func (s *Store) readSealedFrom(ctx context.Context) (from time.Time, err error) {
	var text string
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		text, err = setting(ctx, tx, settingSealedFrom)
		return err
	})
	if err != nil || text == "" {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339Nano, text)
}

// needsLog tells whether the books have an app and no log. Books that were moved
// need nothing: nobody can write to them.
func needsLog(ctx context.Context, tx Tx) (bool, error) {
	for _, name := range []string{settingLogHead, settingMoved} {
		if value, err := setting(ctx, tx, name); err != nil || value != "" {
			return false, err
		}
	}
	var found int
	return one(ctx, tx, []any{&found}, `SELECT 1 FROM apps LIMIT 1`)
}

// decidedBefore is what operators had decided: the apps, their keys, what is disabled
// and whether ordering is paused.
func decidedBefore(ctx context.Context, tx Tx) (list []rewards.Change, err error) {
	apps, err := queryApps(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, a := range apps {
		list = append(list, rewards.Change{Object: a.Object(), After: a.State()})
	}
	err = tx.Query(ctx, func(row Row) error {
		k, err := scanKey(row)
		list = append(list, rewards.Change{Object: k.Object(), After: k.State()})
		return err
	}, `SELECT `+keyColumns+` FROM keys ORDER BY id`)
	if err != nil {
		return nil, err
	}
	assets, err := queryAssets(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, a := range assets {
		if !a.Enabled {
			list = append(list, rewards.Change{Object: a.Object(), After: a.State()})
		}
	}
	paused, err := setting(ctx, tx, settingPaused)
	if paused != "" {
		list = append(list, rewards.Change{Object: rewards.ObjectOrdering, After: rewards.PausedState(paused)})
	}
	return list, err
}
