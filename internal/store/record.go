package store

import (
	"context"
	"errors"
	"fmt"

	"stockrewards/internal/rewards"
)

// RecordRewards answers requests to give stock in one transaction, as if they had
// come one by one in the order given: also when a key stands twice among them or
// its first copy is refused. An error means that none of them was stored (or, with
// CodeUnavailable, that it is not known); a single row that cannot be stored fails
// them all, and the caller tries them in smaller groups.
//
// When it is not known whether it was committed it is run again: its own rows bear
// the ids that it gave them, so that they are told from those of another request.
func (s *Store) RecordRewards(ctx context.Context, batch []rewards.NewReward) ([]rewards.Outcome, error) {
	ids := make([]rewards.RewardID, len(batch))
	const attempts = 3
	for attempt := 1; ; attempt++ {
		outcomes, err := s.recordOnce(ctx, batch, ids)
		if err == nil || attempt == attempts || !errors.Is(err, ErrUnknownOutcome) || ctx.Err() != nil {
			return outcomes, err
		}
	}
}

// recordOnce records a batch. An id that is zero is given when its row is stored,
// in the turn, so that ids grow from one commit to the next.
func (s *Store) recordOnce(
	ctx context.Context, batch []rewards.NewReward, ids []rewards.RewardID,
) ([]rewards.Outcome, error) {
	outcomes := make([]rewards.Outcome, len(batch))
	err := s.engine.Record(ctx, func(ctx context.Context, tx Tx) error {
		if err := s.recordAll(ctx, tx, batch, ids, outcomes); err != nil {
			return fmt.Errorf("store: record rewards: %w", err)
		}
		return s.markUsed(ctx, tx, outcomes)
	})
	if err != nil {
		return nil, err
	}
	for _, o := range outcomes {
		if o.Verdict == rewards.Created {
			s.used.Store(o.Reward.AssetID, true)
		}
	}
	return outcomes, nil
}

// recordAll decides on the requests in turn, by whole columns where that is faster.
func (s *Store) recordAll(
	ctx context.Context, tx Tx, batch []rewards.NewReward, ids []rewards.RewardID, outcomes []rewards.Outcome,
) (err error) {
	if columns, ok := tx.(Columns); ok {
		return s.recordSet(ctx, columns, batch, ids, outcomes)
	}
	for i, r := range batch {
		if outcomes[i], err = s.record(ctx, tx, r, &ids[i]); err != nil {
			return err
		}
	}
	return nil
}

// markUsed makes the prices of newly given assets needed.
func (s *Store) markUsed(ctx context.Context, tx Tx, outcomes []rewards.Outcome) error {
	marked := make(map[rewards.AssetID]bool)
	for _, o := range outcomes {
		asset := o.Reward.AssetID
		if _, known := s.used.Load(asset); known || o.Verdict != rewards.Created || marked[asset] {
			continue
		}
		marked[asset] = true
		_, err := tx.Exec(ctx, `UPDATE assets SET used = 1 WHERE id = ?1 AND used = 0`, int64(asset))
		if err != nil {
			return err
		}
	}
	return nil
}

// record decides on one request, in the order of the verdicts.
func (s *Store) record(ctx context.Context, tx Tx, r rewards.NewReward, id *rewards.RewardID) (rewards.Outcome, error) {
	outcome, found, err := replay(ctx, tx, r)
	if found && !id.IsZero() && outcome.Reward.ID == *id {
		outcome.Verdict = rewards.Created // by the attempt whose outcome was not known
	}
	if err != nil || found {
		return outcome, err
	}
	var exists int
	found, err = one(ctx, tx, []any{&exists},
		`SELECT 1 FROM users WHERE app_id = ?1 AND id = ?2`, r.AppID[:], r.UserID[:])
	if err != nil {
		return outcome, err
	}
	if !found {
		return rewards.Outcome{Verdict: rewards.NoSuchUser}, nil
	}
	if r.AssetID == 0 {
		return rewards.Outcome{Verdict: rewards.NotGiftable}, nil
	}
	if id.IsZero() {
		*id = rewards.NewID[rewards.Reward](s.ids)
	}
	stored := newReward(r, *id)
	_, err = tx.Exec(ctx, `INSERT INTO rewards (app_id, id, user_id, idempotency_key, fingerprint, amount,
		asset_id, symbol, source, metadata) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`,
		r.AppID[:], stored.ID[:], r.UserID[:], r.IdempotencyKey, r.Fingerprint[:], int64(r.Amount),
		int64(r.AssetID), r.Symbol, r.Source, r.Metadata)
	return rewards.Outcome{Verdict: rewards.Created, Reward: stored}, err
}

// newReward is the reward that a request creates.
func newReward(r rewards.NewReward, id rewards.RewardID) rewards.Reward {
	return rewards.Reward{
		AppID: r.AppID, ID: id, UserID: r.UserID,
		IdempotencyKey: r.IdempotencyKey, Amount: r.Amount, AssetID: r.AssetID, Symbol: r.Symbol,
		Source: r.Source, Metadata: r.Metadata, Status: rewards.Recorded,
	}
}

// replay looks the key up and compares what was asked for under it.
func replay(ctx context.Context, tx Tx, r rewards.NewReward) (o rewards.Outcome, found bool, err error) {
	var fingerprint rewards.Fingerprint
	err = tx.Query(ctx, func(row Row) error {
		found = true
		o.Reward, err = scanReward(prefixed{row, []any{idScanner{fingerprint[:]}}})
		return err
	}, `SELECT fingerprint, `+rewardColumns+` FROM rewards WHERE app_id = ?1 AND idempotency_key = ?2`,
		r.AppID[:], r.IdempotencyKey)
	o.Verdict = rewards.Replay
	if found && fingerprint != r.Fingerprint {
		o = rewards.Outcome{Verdict: rewards.Conflict}
	}
	return o, found, err
}

// prefixed is a row whose first columns are read apart from a noun's own.
type prefixed struct {
	Row
	first []any
}

// Scan implements Row.
func (p prefixed) Scan(dest ...any) error {
	return p.Row.Scan(append(p.first[:len(p.first):len(p.first)], dest...)...)
}
