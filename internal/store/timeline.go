package store

import (
	"context"
	"slices"
	"time"

	"stockrewards/internal/rewards"
)

// maxStandstills bounds what a timeline has of each of a stock's and of all stocks' standstills. The
// oldest ones are left out.
const maxStandstills = 100

// History implements rewards.Store. It reads everything in one transaction, by keys.
func (s *Store) History(ctx context.Context, app rewards.AppID, id rewards.RewardID) (rewards.History, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) (h rewards.History, err error) {
		r, found, err := fetchOne(ctx, tx, scanReward,
			`SELECT `+rewardColumns+` FROM rewards WHERE app_id = ?1 AND id = ?2`, app[:], id[:])
		if err == nil && !found {
			err = notFound("reward not found")
		}
		if err != nil {
			return h, err
		}
		return s.history(ctx, tx, r)
	})
}

// HistoryOfAnyApp is History for operators, who name the reward by its id alone.
func (s *Store) HistoryOfAnyApp(ctx context.Context, id rewards.RewardID) (rewards.History, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) (h rewards.History, err error) {
		r, err := rewardOfAnyApp(ctx, tx, id)
		if err != nil {
			return h, err
		}
		return s.history(ctx, tx, r)
	})
}

func (s *Store) history(ctx context.Context, tx Tx, r rewards.Reward) (h rewards.History, err error) {
	h.Reward, h.Now = r, s.now()
	h.Asset, err = oneAsset(ctx, tx, `SELECT `+assetColumns+` FROM assets WHERE id = ?1`, int64(r.AssetID))
	if err != nil {
		return h, err
	}
	if _, err = fetchValues(ctx, tx, []any{&h.App.Name, toFlag{&h.App.Suspended}},
		`SELECT name, suspended FROM apps WHERE id = ?1`, r.AppID[:]); err != nil {
		return h, err
	}
	if h.Orders, err = ordersOf(ctx, tx, r); err != nil {
		return h, err
	}
	if h.CanceledAt, err = canceledAt(ctx, tx, r); err != nil {
		return h, err
	}
	if err := readStood(ctx, tx, &h); err != nil || r.Status >= rewards.Executed {
		return h, err
	}
	err = s.readNow(ctx, tx, &h)
	return h, err
}

// canceledAt is when a canceled reward was taken back whole; zero for others.
func canceledAt(ctx context.Context, tx Tx, r rewards.Reward) (at time.Time, err error) {
	if !r.Canceled() {
		return at, nil
	}
	reversals, err := reversalsOf(ctx, tx, r)
	for _, v := range reversals {
		if v.CompletedAt.After(at) {
			at = v.CompletedAt
		}
	}
	return at, err
}

// ordersOf reads the orders that carried a reward, oldest first.
func ordersOf(ctx context.Context, tx Tx, r rewards.Reward) ([]rewards.Ordered, error) {
	list, err := fetchAll(ctx, tx, func(row Row) (o rewards.Ordered, err error) {
		err = row.Scan(toID(&o.ID), (*int64)(&o.Carried), (*int64)(&o.Bought.Amount), (*int64)(&o.Bought.Shares))
		return o, err
	}, `SELECT order_id, carried, bought, shares FROM (`+partsOfReward(tx)+`) AS parts ORDER BY order_id`,
		r.AppID[:], r.ID[:])
	for i := range list {
		if list[i].Order, err = orderByID(ctx, tx, list[i].ID); err != nil {
			return nil, err
		}
	}
	return list, err
}

// readStood reads when and why the leader ordered nothing of the reward's stock while it was open.
func readStood(ctx context.Context, tx Tx, h *rewards.History) error {
	end := h.Now.Add(time.Microsecond) // that began just now too
	switch n := len(h.Orders); {
	case !h.CanceledAt.IsZero():
		end = h.CanceledAt
	case n > 0 && h.Reward.Status >= rewards.Executed:
		end = h.Orders[n-1].SettledAt
	}
	for _, asset := range []rewards.AssetID{0, h.Reward.AssetID} {
		list, err := standstillsOf(ctx, tx, asset, h.Reward.CreatedAt(), end)
		if err != nil {
			return err
		}
		h.Stood = append(h.Stood, list...)
	}
	slices.SortStableFunc(h.Stood, func(a, b rewards.Standstill) int { return a.Since.Compare(b.Since) })
	return nil
}

const standstillColumns = `asset_id, since, until, cause, expected`

func scanStandstill(row Row) (s rewards.Standstill, err error) {
	err = row.Scan((*int64)(&s.AssetID), toTime{&s.Since}, toTime{&s.Until}, (*int)(&s.Cause), toTime{&s.Expected})
	return s, err
}

// standstillsOf lists those of a stock that were in force between two moments, newest first. They
// follow each other, so only one of those that began before the first moment may be.
func standstillsOf(ctx context.Context, tx Tx, asset rewards.AssetID, from, to time.Time) (
	[]rewards.Standstill, error,
) {
	return fetchAll(ctx, tx, scanStandstill, `SELECT `+standstillColumns+` FROM standstills WHERE asset_id = ?1
		AND since >= coalesce((SELECT b.since FROM standstills b WHERE b.asset_id = ?1 AND b.since <= ?2
			ORDER BY b.since DESC LIMIT 1), ?2) AND since < ?3 AND (until = 0 OR until > ?2)
		ORDER BY since DESC LIMIT ?4 + 0`, int64(asset), micros(from), micros(to), maxStandstills)
}

// readNow reads what decides what an open reward waits for.
func (s *Store) readNow(ctx context.Context, tx Tx, h *rewards.History) (err error) {
	if h.Control, err = control(ctx, tx); err != nil {
		return err
	}
	var one int
	h.Blocked, err = fetchValues(ctx, tx, []any{&one}, quarantinedOrder+`?1 LIMIT 1`, int64(h.Asset.ID))
	if err != nil {
		return err
	}
	if h.Led, err = led(ctx, tx, h.Now); err != nil {
		return err
	}
	small := func(s rewards.Standstill) bool { return s.Until.IsZero() && s.Cause == rewards.CauseSmallPool }
	if !slices.ContainsFunc(h.Stood, small) {
		return nil
	}
	queues, err := readQueues(ctx, tx, h.Asset.ID, rewards.MaxMembers)
	for _, q := range queues {
		for _, w := range q.Waiting {
			h.Pool += w.Pending
		}
	}
	return err
}

// Standstills lists those that go on.
func (s *Store) Standstills(ctx context.Context) ([]rewards.Standstill, error) {
	return readAll(ctx, s, scanStandstill, `SELECT `+standstillColumns+` FROM standstills WHERE until = 0
		ORDER BY asset_id`)
}

// SaveStandstills ends the standstills of some stocks, and begins others after that. It fails with
// ErrLostLease.
func (s *Store) SaveStandstills(
	ctx context.Context, l rewards.Lease, ended []rewards.AssetID, begun []rewards.Standstill,
) error {
	return s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		now := micros(s.now())
		for _, asset := range ended {
			if _, err := tx.Exec(ctx, `UPDATE standstills SET until = CASE WHEN since > ?2 THEN since ELSE ?2 END
				WHERE asset_id = ?1 AND until = 0`, int64(asset), now); err != nil {
				return err
			}
		}
		for _, b := range begun {
			if _, err := tx.Exec(ctx, `INSERT INTO standstills (asset_id, since, cause, expected)
				VALUES (?1, ?2, ?3, ?4) ON CONFLICT (asset_id, since) DO UPDATE SET cause = excluded.cause,
				expected = excluded.expected, until = 0`,
				int64(b.AssetID), now, int(b.Cause), micros(b.Expected)); err != nil {
				return err
			}
		}
		return nil
	})
}
