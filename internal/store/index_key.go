package store

import (
	"context"
	"fmt"
	"slices"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/segment"
)

// byKey finds the reward with an idempotency key of that hash, or nil, in a transaction that has caught up.
func (x *rewardIndex) byKey(ctx context.Context, tx Tx, key requestKey, hash int64) (*rewards.KeyedReward, error) {
	p := x.newKeyPage(key, hash)
	return p.find(ctx, tx)
}

// keyPage finds the reward with an idempotency key by the index in segments.
type keyPage struct {
	requestKey
	hash    int64
	tail    []int64           // the rewards in memory whose key has the hash: almost always none, or the one
	filters []*segment.Filter // of the sealed segments
	next    int64             // the number after the newest one that memory covers
	size    int64             // of a segment
	rows    bool              // the entries of some sealed segments are rows
}

// newKeyPage takes what memory has. As with newUserPage, a transaction that only reads must begin
// later.
func (x *rewardIndex) newKeyPage(key requestKey, hash int64) keyPage {
	p := keyPage{requestKey: key, hash: hash}
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, tail := range x.tails {
		p.tail = tail.ByKey(p.tail, p.hash)
	}
	p.filters, p.next, p.size, p.rows = x.filters, x.next(), x.size, x.rows
	return p
}

// read lists the reward, also if it was recorded since by any process.
func (p *keyPage) read(ctx context.Context, tx Tx) ([]rewards.Reward, error) {
	k, err := p.find(ctx, tx)
	if err != nil {
		return nil, err
	}
	if k != nil {
		return []rewards.Reward{k.Reward}, nil
	}
	return fetchAll(ctx, tx, scanReward, `SELECT `+rewardColumns+` FROM rewards
		WHERE rowid >= ?1 AND +app_id = ?2 AND idempotency_key = ?3`, p.next, p.app[:], p.key)
}

// find returns the reward, or nil when it is not among those that memory covers. It looks where the newest rewards
// are first: most requests are repeated soon.
func (p *keyPage) find(ctx context.Context, tx Tx) (*rewards.KeyedReward, error) {
	k, err := p.among(ctx, tx, p.tail)
	if err != nil || k != nil || len(p.filters) == 0 {
		return k, err
	}
	probe := segment.NewProbe(p.hash)
	for _, f := range slices.Backward(p.filters) {
		sealed, may := f.Newest(probe, f.Last+1)
		for ; may; sealed, may = f.Newest(probe, sealed) {
			numbers, err := p.inSealed(ctx, tx, sealed)
			if err != nil {
				return nil, err
			}
			if k, err := p.among(ctx, tx, numbers); err != nil || k != nil {
				return k, err
			}
		}
	}
	return nil, nil //nolint:nilnil // an unused key is the usual case
}

// among returns the reward if it has one of the numbers of rewards whose key has the hash, or nil. It fails when a row
// is not what its entry says: nobody knows then whether the key is new.
func (p *keyPage) among(ctx context.Context, tx Tx, numbers []int64) (*rewards.KeyedReward, error) {
	for _, number := range numbers {
		k, found, err := fetchOne(ctx, tx, scanKeyed,
			`SELECT fingerprint, `+rewardColumns+` FROM rewards WHERE rowid = ?1`, number)
		switch key := (requestKey{k.Reward.AppID, k.Reward.IdempotencyKey}); {
		case err != nil:
			return nil, err
		case !found || !segment.SameKey(keyHash(key.app, key.key), p.hash):
			return nil, fmt.Errorf("store: the reward with the number %d is damaged: run `stockrewards audit`", number)
		case key == p.requestKey:
			return &k, nil
		}
	}
	return nil, nil //nolint:nilnil // the key of another reward may have the hash
}
