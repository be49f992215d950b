package store

import (
	"context"
	"slices"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/segment"
)

// keySearch finds rewards by their keys over PostgreSQL: in memory, then in the other segments whose filter says that
// they may have a key.
type keySearch struct {
	segments *columnSegments
	columnState

	budgets string // their changes, when it caught up
}

// search returns what this process knows. A transaction that only reads takes it from catchUp.
func (x *columnSegments) search() *keySearch {
	state, _ := x.now()
	return &keySearch{segments: x, columnState: state}
}

// inMemory lists the rewards whose key has a hash, newest first.
func (k *keySearch) inMemory(hash int64) (ids []segment.ID) {
	k.segments.mu.RLock()
	defer k.segments.mu.RUnlock()
	for _, part := range slices.Backward(k.recent) {
		ids = part.Find(ids, hash)
	}
	return ids
}

// soughtKey is a key to look for.
type soughtKey struct {
	requestKey

	hash int64
}

// used reports whether a reward may have one of the keys.
func (k *keySearch) used(ctx context.Context, tx Tx, sought []soughtKey) (bool, error) {
	for i := range sought {
		if len(k.inMemory(sought[i].hash)) > 0 {
			return true, nil
		}
	}
	found, err := k.inSealed(ctx, tx, sought)
	return len(found) > 0, err
}

// find reads the rewards that have one of the keys.
func (k *keySearch) find(ctx context.Context, tx Tx, sought []soughtKey) (keyedRewards, error) {
	probable, err := k.inSealed(ctx, tx, sought)
	if err != nil {
		return nil, err
	}
	for _, s := range sought {
		for _, id := range k.inMemory(s.hash) {
			probable = append(probable, foundKey{rewardKey{s.app, rewards.RewardID(id)}, s.hash, true})
		}
	}
	if len(probable) == 0 {
		return keyedRewards{}, nil
	}
	newest := k.newestInMemory()
	places := make([]rewardKey, len(probable))
	for i, f := range probable {
		places[i] = f.rewardKey
	}
	apps, ids := columnsOfKeys(places)
	known, err := readKeyed(ctx, tx, `rewards WHERE (app_id, id) IN
		(SELECT * FROM unnest(?1::bytea[], ?2::bytea[]))`, apps, ids)
	if err != nil {
		return nil, err
	}
	return known, known.check(ctx, tx, probable, newest)
}

// newestInMemory returns the newest batch that inMemory may have found a key in. It returns nil when another segment
// began, or all batches were read again: then a transaction that stores rewards finds that out.
func (k *keySearch) newestInMemory() *batchPoint {
	state, _ := k.segments.now()
	if len(k.recent) == 0 || !state.continues(&k.columnState) {
		return nil
	}
	return &state.last
}

// foundKey is a reward that probably has the key with a hash.
type foundKey struct {
	rewardKey

	hash   int64
	memory bool // it was found in memory, not in a block
}

// keyedRewards are rewards by their keys. A search may find others than those that are sought, with the same hash.
type keyedRewards map[requestKey]*rewards.KeyedReward

// readKeyed reads rewards, by their keys.
func readKeyed(ctx context.Context, tx Tx, from string, args ...any) (keyedRewards, error) {
	known := keyedRewards{}
	err := fetchEach(ctx, tx, scanKeyed, func(r rewards.KeyedReward) error {
		known[requestKey{r.Reward.AppID, r.Reward.IdempotencyKey}] = &r
		return nil
	}, `SELECT fingerprint, `+rewardColumns+` FROM `+from, args...)
	return known, err
}

// inSealed lists the rewards of sealed segments that may have one of the keys.
func (k *keySearch) inSealed(ctx context.Context, tx Tx, sought []soughtKey) (places []foundKey, err error) {
	var inBlocks, inIndex []sealedKey
	for i := range sought {
		for _, number := range k.view.mayHave(sought[i].hash) {
			if key := (sealedKey{&sought[i], number}); k.view.sealed(number) {
				inBlocks = append(inBlocks, key)
			} else {
				inIndex = append(inIndex, key)
			}
		}
	}
	if len(inBlocks) > 0 {
		if places, err = readKeyBlocks(ctx, tx, inBlocks); err != nil {
			return nil, err
		}
	}
	if len(inIndex) > 0 {
		indexed, err := readKeyIndex(ctx, tx, inIndex)
		return append(places, indexed...), err
	}
	return places, nil
}

// mayHave lists the segments that may have a key, apart from those in memory.
func (v *segmentView) mayHave(hash int64) []int64 {
	list := slices.Clone(v.open)
	if len(v.filters) == 0 {
		return list
	}
	probe := segment.NewProbe(hash)
	for _, f := range slices.Backward(v.filters) {
		sealed, may := f.Newest(probe, f.Last+1)
		for ; may; sealed, may = f.Newest(probe, sealed) {
			list = append(list, sealed)
		}
	}
	return list
}

// sealedKey is a key to look for in a sealed segment.
type sealedKey struct {
	*soughtKey

	segment int64
}

// readKeyIndex looks into segments of an earlier version. Those that are sealed since are in blocks.
func readKeyIndex(ctx context.Context, tx Tx, sought []sealedKey) (places []foundKey, err error) {
	numbers, segments := make([]int64, len(sought)), make([]int64, len(sought))
	apps, keys := make([][]byte, len(sought)), make([]string, len(sought))
	for i, k := range sought {
		numbers[i], segments[i], apps[i], keys[i] = int64(i), k.segment, k.app[:], k.key
	}
	var sealed []sealedKey
	err = tx.Query(ctx, func(row Row) error {
		var i int64
		var where entriesIn
		var id []byte
		err := row.Scan(&i, (*int64)(&where), toBytes{&id})
		switch {
		case where == byBlocks:
			sealed = append(sealed, sought[i])
		case len(id) > 0:
			places = append(places, foundKey{rewardKey{sought[i].app, rewards.RewardID(id)}, sought[i].hash, false})
		}
		return err
	}, `SELECT k.number, g.keys::bigint, coalesce(r.id, '')
		FROM unnest(?1::bigint[], ?2::integer[], ?3::bytea[], ?4::text[]) AS k (number, segment, app, key)
		JOIN segments g ON g.number = k.segment
		LEFT JOIN LATERAL (SELECT id FROM rewards WHERE g.keys = 0 AND reward_key(segment, app_id, idempotency_key)
			= reward_key(k.segment, k.app, k.key) OFFSET 0) AS r ON true`, numbers, segments, apps, keys)
	if err != nil || len(sealed) == 0 {
		return places, err
	}
	since, err := readKeyBlocks(ctx, tx, sealed)
	return append(places, since...), err
}

// columnsOfKeys returns a column of apps and one of ids.
func columnsOfKeys(keys []rewardKey) (apps, ids [][]byte) {
	apps, ids = make([][]byte, len(keys)), make([][]byte, len(keys))
	for i := range keys {
		apps[i], ids[i] = keys[i].app[:], keys[i].id[:]
	}
	return apps, ids
}

// byKeyInColumns lists the reward with an idempotency key.
func (s *Store) byKeyInColumns(ctx context.Context, key requestKey) ([]rewards.Reward, error) {
	return readCaughtUp(ctx, s, func(ctx context.Context, tx Tx, search *keySearch) ([]rewards.Reward, error) {
		found, err := search.find(ctx, tx, []soughtKey{{key, keyHash(key.app, key.key)}})
		if k := found[key]; k != nil {
			return []rewards.Reward{k.Reward}, err
		}
		return nil, err
	})
}
