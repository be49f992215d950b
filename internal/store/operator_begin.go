package store

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

// maxUpgrade is how long processes of an older version may still record while a fleet is upgraded.
const maxUpgrade = 24 * time.Hour

// beginLog starts the operator log of a store that is older than the log. Its first entries are
// what operators had decided before, so that the audit can compare. It also stores from when on
// rewards and users are sealed. A new store starts its log with its first app.
func (s *Store) beginLog(ctx context.Context, newest time.Time) error {
	needed, err := read(ctx, s, needsLog)
	if err != nil || !needed {
		return err
	}
	by := rewards.Operator{
		Actor: "stockrewards", Command: "log begin",
		Reason: "the store is older than the operator log: this is what operators had decided before",
	}
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		if needed, err := needsLog(ctx, tx); err != nil || !needed {
			return err
		}
		from := latest(s.now(), newest)
		if _, fleet := tx.(ColumnTx); fleet {
			from = from.Add(maxUpgrade)
		}
		sealed := from.Add(time.Millisecond).UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
		if err := setSetting(ctx, tx, settingSealedFrom, sealed); err != nil {
			return err
		}
		decided, err := decidedBefore(ctx, tx)
		if err != nil {
			return err
		}
		return logChanges(ctx, tx, s.now(), by, decided)
	})
}

// readSealedFrom returns since when rewards and users are sealed.
func (s *Store) readSealedFrom(ctx context.Context) (time.Time, error) {
	value, err := s.readSetting(ctx, settingSealedFrom)
	if err != nil || value == "" {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339Nano, value)
}

// needsLog reports whether the store has an app but no log. After a cutover nobody can write to
// the store, and it needs none.
func needsLog(ctx context.Context, tx Tx) (bool, error) {
	for _, name := range []string{settingLogHead, settingMoved} {
		if value, err := setting(ctx, tx, name); err != nil || value != "" {
			return false, err
		}
	}
	var found int
	return fetchValues(ctx, tx, []any{&found}, `SELECT 1 FROM apps LIMIT 1`)
}

// decidedBefore lists what operators had decided: the apps, their keys, the disabled assets and
// whether ordering is paused.
func decidedBefore(ctx context.Context, tx Tx) (list []rewards.Change, err error) {
	apps, err := queryApps(ctx, tx)
	if err != nil {
		return nil, err
	}
	for _, a := range apps {
		list = append(list, rewards.Change{Object: a.Object(), After: a.State()})
	}
	keys, err := fetchAll(ctx, tx, scanKey, `SELECT `+keyColumns+` FROM keys ORDER BY id`)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		list = append(list, rewards.Change{Object: k.Object(), After: k.State()})
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
