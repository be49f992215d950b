package store

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// sinceSwitch are the lots of an award after the switch of that number, 0 before the first one.
type sinceSwitch struct {
	*rewards.AwardLots

	number int64
	last   time.Time // when the award's last reversal was completed; zero: none was
}

// take completes a reversal at now, with what it takes of the lots. It is completed after the earlier ones,
// also if the process that completed those has a clock that is ahead, or if it is the same microsecond, which is
// what the store keeps: they are replayed in this order.
func (l *sinceSwitch) take(v rewards.Reversal, now time.Time) (rewards.Reversal, []rewards.Taking, error) {
	takings, err := l.Take(v.Amount)
	var quantity money.Shares
	for _, t := range takings {
		if t.AssetID == l.Main {
			quantity = t.Quantity
		}
	}
	if now = now.Truncate(time.Microsecond); !now.After(l.last) {
		now = l.last.Add(time.Microsecond)
	}
	v = v.Complete(quantity, l.number, now)
	l.last = v.CompletedAt
	return v, takings, err
}

// errNeedsLots means that the lots of an award must be computed from all awards of its user, which
// takes too long for a transaction that others wait for.
var errNeedsLots = errors.New("a corporate action changed the lots of the award")

// lotsOf returns the lots of an executed award. prepared are its lots after the last switch, if they
// were computed. It fails with errNeedsLots, and with rewards.CodeUnavailable while a sweep changes
// one of its stocks.
func lotsOf(ctx context.Context, tx Tx, r rewards.Reward, prepared *sinceSwitch) (lots sinceSwitch, err error) {
	earlier, err := reversalsOf(ctx, tx, r)
	if err != nil {
		return lots, err
	}
	for _, v := range earlier {
		if v.CompletedAt.After(lots.last) {
			lots.last = v.CompletedAt
		}
	}
	if lots.number, err = lastSwitch(ctx, tx); err != nil {
		return lots, err
	}
	if prepared != nil && prepared.number == lots.number {
		lots.AwardLots = prepared.Copy()
		for _, back := range backsOf(earlier) {
			if back.After < lots.number {
				continue
			}
			if _, err := lots.Take(back.Amount); err != nil {
				return lots, err
			}
		}
	} else if lots.AwardLots, err = ownLots(ctx, tx, r, earlier); err != nil {
		return lots, err
	}
	w, open, err := openSwitch(ctx, tx)
	if err != nil || !open {
		return lots, err
	}
	for _, lot := range lots.List {
		if lot.AssetID == w.AssetID || lot.AssetID == w.Target {
			return lots, rewards.Unavailable("a corporate action of the stock is being applied", nil)
		}
	}
	return lots, nil
}

// lastSwitch returns the number of the last switch; 0 before the first one.
func lastSwitch(ctx context.Context, tx Tx) (number int64, err error) {
	_, err = fetchValues(ctx, tx, []any{&number}, `SELECT coalesce(max(number), 0) FROM switches`)
	return number, err
}

// ownLots computes the lots of an award from its own book. It fails with errNeedsLots when that does
// not suffice: a corporate action changed something that was bought before it.
func ownLots(
	ctx context.Context, tx Tx, r rewards.Reward, earlier []rewards.Reversal,
) (*rewards.AwardLots, error) {
	book, err := bookOf(ctx, tx, r, backsOf(earlier))
	if err != nil {
		return nil, err
	}
	switches, err := fetchAll(ctx, tx, scanSwitch, `SELECT `+switchColumns+` FROM switches
		WHERE asset_id = ?1 ORDER BY number`, int64(r.AssetID))
	if err != nil {
		return nil, err
	}
	for _, w := range switches {
		if !w.Unchanging() && slices.ContainsFunc(book.Parts, func(p rewards.Part) bool { return p.Before(w) }) {
			return nil, errNeedsLots
		}
	}
	switches = slices.DeleteFunc(switches, func(w rewards.Switch) bool { return !w.Unchanging() }) // all were before it
	lots, err := rewards.ReplayBooks([]rewards.AwardBook{book}, switches)
	return lots[r.ID], err
}

// backsOf returns the completed reversals as a book has them.
func backsOf(list []rewards.Reversal) (backs []rewards.Back) {
	for _, v := range list {
		if v.State == rewards.ReversalCompleted {
			backs = append(backs, rewards.Back{Amount: v.Amount, After: v.After, At: v.CompletedAt})
		}
	}
	return rewards.InOrder(backs)
}

// bookOf reads the book of an award.
func bookOf(ctx context.Context, tx Tx, r rewards.Reward, backs []rewards.Back) (rewards.AwardBook, error) {
	parts, err := fetchAll(ctx, tx, func(row Row) (p rewards.Part, err error) {
		err = row.Scan(toID(&p.OrderID), (*int64)(&p.AssetID), &p.Generation, (*int64)(&p.Shares))
		return p, err
	}, `SELECT order_id, asset_id, generation, shares FROM (`+partsOfReward(tx)+`) AS parts WHERE bought > 0`,
		r.AppID[:], r.ID[:])
	return rewards.AwardBook{
		ID: r.ID, Amount: r.Amount, Executed: r.Status == rewards.Executed, Parts: parts, Backs: backs,
	}, err
}

// lotKeeper computes lots before the transaction that needs them.
type lotKeeper struct {
	store *Store
	lots  map[rewardKey]*sinceSwitch // that a transaction asked for; nil until they are read
}

func newLotKeeper(s *Store) lotKeeper {
	return lotKeeper{store: s, lots: make(map[rewardKey]*sinceSwitch)}
}

// prepare computes the lots that a transaction asked for, of all awards of a user at once. What was computed after the
// last switch stays.
func (k *lotKeeper) prepare(ctx context.Context) error {
	users := make(map[userKey][]rewardKey)
	for key := range k.lots {
		reward, err := k.store.Reward(ctx, key.app, key.id)
		if err != nil {
			return err
		}
		user := userKey{key.app, reward.UserID}
		users[user] = append(users[user], key)
	}
	for user, keys := range users {
		err := k.store.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
			number, err := lastSwitch(ctx, tx)
			current := func(key rewardKey) bool { return k.lots[key] != nil && k.lots[key].number == number }
			if err != nil || !slices.ContainsFunc(keys, func(key rewardKey) bool { return !current(key) }) {
				return err
			}
			all, err := k.store.lots.ofUser(ctx, tx, user, number)
			for _, key := range keys {
				if err == nil && all[key.id] == nil {
					err = errNoLots
				}
				k.lots[key] = &sinceSwitch{AwardLots: all[key.id], number: number}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// errNoLots means that the store contradicts itself: an executed award has no lots.
var errNoLots = errors.New("store: an executed award has no lots")

// lotsOf is the function lotsOf with the lots that were prepared. What it lacks is prepared next.
func (k *lotKeeper) lotsOf(ctx context.Context, tx Tx, reward rewards.Reward) (sinceSwitch, error) {
	key := rewardKey{reward.AppID, reward.ID}
	lots, err := lotsOf(ctx, tx, reward, k.lots[key])
	if errors.Is(err, errNeedsLots) {
		k.lots[key] = nil
	}
	return lots, err
}

// ofUser returns the lots of all awards of a user right after the switch of that number.
func (x *lotIndex) ofUser(
	ctx context.Context, tx Tx, k userKey, number int64,
) (map[rewards.RewardID]*rewards.AwardLots, error) {
	switches, err := fetchAll(ctx, tx, scanSwitch, `SELECT `+switchColumns+` FROM switches WHERE number <= ?1
		ORDER BY number`, number)
	if err != nil {
		return nil, err
	}
	backs, err := backsOfUser(ctx, tx, k, number)
	if err != nil {
		return nil, err
	}
	lots, _, err := x.find(ctx, tx, userHash(k.user), math.MaxInt64, math.MaxInt)
	if err != nil {
		return nil, err
	}
	books := make(map[rewards.RewardID]*rewards.AwardBook)
	err = tx.Query(ctx, func(row Row) error {
		var b rewards.AwardBook
		var p rewards.Part
		var status rewards.Status
		err := row.Scan(toID(&b.ID), (*int64)(&b.Amount), (*int)(&status), toID(&p.OrderID), (*int64)(&p.AssetID),
			&p.Generation, (*int64)(&p.Shares))
		if books[b.ID] == nil {
			b.Executed, b.Backs = status == rewards.Executed, backs[b.ID]
			books[b.ID] = &b
		}
		books[b.ID].Parts = append(books[b.ID].Parts, p)
		return err
	}, `SELECT m.reward_id, m.reward_amount, m.status, o.id, o.asset_id, o.generation, m.shares
			FROM `+listed(tx)+` AS l`+memberAt(tx, `l.value`)+`CROSS JOIN orders o
			WHERE m.app_id = ?2 AND m.user_id = ?3 AND m.status <> `+failed+`
			AND o.number = l.value / 1024 AND o.number > 0
		UNION ALL SELECT a.reward_id, r.amount, r.status, o.id, o.asset_id, o.generation, a.shares
			FROM past_allocations a CROSS JOIN rewards r CROSS JOIN orders o
			WHERE a.app_id = ?2 AND a.user_id = ?3 AND a.at >= 0 AND (a.shares > 0 OR a.cost > 0)
			AND r.app_id = ?2 AND r.id = a.reward_id AND r.status <> `+failed+` AND o.id = a.order_id`,
		listArg(tx, placesOf(lots)), k.app[:], k.user[:])
	if err != nil {
		return nil, err
	}
	list := make([]rewards.AwardBook, 0, len(books))
	for _, b := range books {
		list = append(list, *b)
	}
	return rewards.ReplayBooks(list, switches)
}

// backsOfUser reads what was taken back of a user's awards before a switch.
func backsOfUser(
	ctx context.Context, tx Tx, k userKey, number int64,
) (map[rewards.RewardID][]rewards.Back, error) {
	of := make(map[rewards.RewardID][]rewards.Back)
	err := fetchEach(ctx, tx, scanReversal, func(v rewards.Reversal) error {
		if v.State == rewards.ReversalCompleted && v.After < number {
			of[v.RewardID] = append(of[v.RewardID], rewards.Back{Amount: v.Amount, After: v.After, At: v.CompletedAt})
		}
		return nil
	}, `SELECT `+reversalColumns+` FROM reversals WHERE app_id = ?1 AND user_id = ?2`, k.app[:], k.user[:])
	for id := range of {
		of[id] = rewards.InOrder(of[id])
	}
	return of, err
}

// takenBack is a completed reversal with what it takes.
type takenBack struct {
	rewards.Reversal

	takings []rewards.Taking
}

// bookTakings gives to the house what reversals of one user took of the holdings.
func bookTakings(ctx context.Context, tx Tx, list ...takenBack) error {
	var rows [][]any
	var sums []rewards.Taking
	for _, v := range list {
		for _, t := range v.takings {
			rows = append(rows, []any{v.AppID[:], v.ID[:], int64(t.AssetID), int64(t.Quantity), int64(t.Basis)})
			at := slices.IndexFunc(sums, func(sum rewards.Taking) bool { return sum.AssetID == t.AssetID })
			if at < 0 {
				sums = append(sums, t)
				continue
			}
			sums[at].Quantity += t.Quantity
			sums[at].Basis += t.Basis
		}
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := execRows(ctx, tx, `INSERT INTO takings (app_id, reversal_id, asset_id, quantity, basis)
		VALUES (?1, ?2, ?3, ?4, ?5)`, `INSERT INTO takings (app_id, reversal_id, asset_id, quantity, basis)
		SELECT * FROM unnest(?1::bytea[], ?2::bytea[], ?3::bigint[], ?4::bigint[], ?5::bigint[])`, rows)
	if err != nil {
		return err
	}
	for _, t := range sums {
		n, err := tx.Exec(ctx, `UPDATE holdings SET quantity = quantity - ?4, cost_basis = cost_basis - ?5
			WHERE app_id = ?1 AND user_id = ?2 AND asset_id = ?3 AND quantity >= ?4 AND cost_basis >= ?5`,
			list[0].AppID[:], list[0].UserID[:], int64(t.AssetID), int64(t.Quantity), int64(t.Basis))
		if err != nil {
			return err
		}
		if n != 1 {
			return errNotHeld
		}
		if err := addHouse(ctx, tx, t.AssetID, t.Quantity); err != nil {
			return err
		}
	}
	return nil
}

// errNotHeld means that the store contradicts itself: an award's lots are more than its user holds.
var errNotHeld = errors.New("a user holds less than the lots of an award")
