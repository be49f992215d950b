package store

import (
	"context"
	"errors"
	"time"

	"stockrewards/internal/rewards"
)

func readShards(ctx context.Context, tx Tx) ([]rewards.WebhookShard, error) {
	return fetchAll(ctx, tx, func(row Row) (s rewards.WebhookShard, err error) {
		err = row.Scan(&s.Number, &s.Holder, &s.Epoch, toTime{&s.Until})
		return s, err
	}, `SELECT number, holder, epoch, until FROM webhook_shards ORDER BY number`)
}

// TakeWebhookShards takes or renews the holder's part of the shards, as rewards.ShareShards decides,
// and returns it. With force set, the caller knows that no other process runs. It gives all back and fails when the
// process's clock is wrong: receivers would refuse what it signs.
func (s *Store) TakeWebhookShards(
	ctx context.Context, holder string, ttl time.Duration, force bool,
) (mine map[int]rewards.WebhookShard, err error) {
	if err := errors.Join(s.checkLeader(), s.guard(s.now())); err != nil {
		return nil, errors.Join(err, s.DropWebhookShards(ctx, holder))
	}
	err = s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		now := s.clock()
		if _, err := tx.Exec(ctx, `DELETE FROM webhook_workers WHERE until <= ?1 OR until > ?2`,
			micros(now), micros(rewards.LatestEnd(now, ttl))); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO webhook_workers (holder, until) VALUES (?1, ?2)
			ON CONFLICT (holder) DO UPDATE SET until = excluded.until`, holder, micros(now.Add(ttl))); err != nil {
			return err
		}
		workers := 1
		if !force {
			if _, err := fetchValues(ctx, tx, []any{&workers}, `SELECT count(*) FROM webhook_workers`); err != nil {
				return err
			}
		}
		all, err := readShards(ctx, tx)
		if err != nil {
			return err
		}
		mine = make(map[int]rewards.WebhookShard)
		var rows [][]any
		for _, shard := range rewards.ShareShards(all, holder, workers, now, ttl, force) {
			rows = append(rows, []any{int64(shard.Number), shard.Holder, shard.Epoch, micros(shard.Until)})
			if shard.Held(now) {
				mine[shard.Number] = shard
			}
		}
		_, err = execRows(ctx, tx, `UPDATE webhook_shards SET holder = ?2, epoch = ?3, until = ?4 WHERE number = ?1`,
			`UPDATE webhook_shards s SET holder = b.holder, epoch = b.epoch, until = b.until
			FROM unnest(?1::bigint[], ?2::text[], ?3::bigint[], ?4::bigint[]) AS b (number, holder, epoch, until)
			WHERE s.number = b.number`, rows)
		return err
	})
	return mine, err
}

// DropWebhookShards gives the holder's shards back at once.
func (s *Store) DropWebhookShards(ctx context.Context, holder string) error {
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		for _, statement := range []string{
			`DELETE FROM webhook_workers WHERE holder = ?1`,
			`UPDATE webhook_shards SET until = 0 WHERE holder = ?1`,
		} {
			if _, err := tx.Exec(ctx, statement, holder); err != nil {
				return err
			}
		}
		return nil
	})
}
