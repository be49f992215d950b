package store

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

const keyColumns = `app_id, id, hash, label, hint, expires_at, revoked_at`

func scanKey(row Row) (k rewards.Key, err error) {
	err = row.Scan(toID(&k.AppID), toID(&k.ID), idScanner{k.Hash[:]}, &k.Label, &k.Hint,
		toTime{&k.ExpiresAt}, toTime{&k.RevokedAt})
	return k, err
}

func insertKey(ctx context.Context, tx Tx, k rewards.Key) error {
	_, err := tx.Exec(ctx, `INSERT INTO keys (`+keyColumns+`) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
		k.AppID[:], k.ID[:], k.Hash[:], k.Label, k.Hint, micros(k.ExpiresAt), micros(k.RevokedAt))
	return err
}

// AppByKey implements rewards.Store.
func (s *Store) AppByKey(ctx context.Context, hash rewards.KeyHash) (k rewards.Key, a rewards.App, err error) {
	found := false
	err = s.engine.ReadShared(ctx, func(ctx context.Context, tx Tx) error {
		k, _, err = fetchOne(ctx, tx, scanKey, `SELECT `+keyColumns+` FROM keys WHERE hash = ?1`, hash[:])
		if err != nil {
			return err
		}
		a, found, err = fetchOne(ctx, tx, scanApp, `SELECT `+appColumns+` FROM apps WHERE id = ?1`, k.AppID[:])
		return err
	})
	unread := rewards.CodeOf(err) == rewards.CodeUnavailable
	if s.keysUnread.Load() != unread && ctx.Err() == nil {
		s.keysUnread.Store(unread)
	}
	if err == nil && !found {
		err = notFound("no such key")
	}
	return k, a, err
}

// CreateKey stores another key of an app, named by its id or name. It fails with CodeNotFound.
func (o *Operator) CreateKey(ctx context.Context, app string, k rewards.Key) (rewards.Key, error) {
	err := o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		a, err := findApp(ctx, tx, app)
		if err != nil {
			return nil, err
		}
		k.AppID, k.ID = a.ID, rewards.NewID[rewards.Key](o.ids)
		return []rewards.Change{{Object: k.Object(), After: k.State()}}, insertKey(ctx, tx, k)
	})
	return k, err
}

// Keys lists the keys of an app, named by its id or name, oldest first. It fails with
// CodeNotFound.
func (s *Store) Keys(ctx context.Context, app string) ([]rewards.Key, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) ([]rewards.Key, error) {
		a, err := findApp(ctx, tx, app)
		if err != nil {
			return nil, err
		}
		return fetchAll(ctx, tx, scanKey, `SELECT `+keyColumns+` FROM keys WHERE app_id = ?1 ORDER BY id`, a.ID[:])
	})
}

// RotateKey stores a new key of the app that has the old key, with its label. The old key expires at the
// given moment, or earlier if it already would. It fails with CodeNotFound, and with
// CodeConflict when the old key is revoked or expired.
func (o *Operator) RotateKey(
	ctx context.Context, old rewards.KeyID, k rewards.Key, expires time.Time,
) (rewards.Key, error) {
	err := o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		from, err := keyByID(ctx, tx, old)
		if err != nil {
			return nil, err
		}
		if !from.ValidAt(o.now()) {
			return nil, conflict("the key is revoked or expired: create one")
		}
		k.AppID, k.ID, k.Label = from.AppID, rewards.NewID[rewards.Key](o.ids), from.Label
		if err := insertKey(ctx, tx, k); err != nil {
			return nil, err
		}
		if _, err = tx.Exec(ctx, `UPDATE keys SET expires_at = ?3
			WHERE app_id = ?1 AND id = ?2 AND (expires_at = 0 OR expires_at > ?3)`,
			from.AppID[:], old[:], micros(expires)); err != nil {
			return nil, err
		}
		rotated, err := keyByID(ctx, tx, old)
		return []rewards.Change{
			{Object: k.Object(), After: k.State()},
			{Object: from.Object(), Before: from.State(), After: rotated.State()},
		}, err
	})
	return k, err
}

// RevokeKey revokes a key at once. Repeating it changes nothing. It fails with CodeNotFound.
func (o *Operator) RevokeKey(ctx context.Context, id rewards.KeyID) error {
	return o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		k, err := keyByID(ctx, tx, id)
		if err != nil || !k.RevokedAt.IsZero() {
			return nil, err
		}
		revoked := k
		revoked.RevokedAt = o.now()
		_, err = tx.Exec(ctx, `UPDATE keys SET revoked_at = ?3
			WHERE app_id = ?1 AND id = ?2 AND revoked_at = 0`, k.AppID[:], id[:], micros(revoked.RevokedAt))
		return []rewards.Change{{Object: k.Object(), Before: k.State(), After: revoked.State()}}, err
	})
}

func keyByID(ctx context.Context, tx Tx, id rewards.KeyID) (rewards.Key, error) {
	k, found, err := fetchOne(ctx, tx, scanKey, `SELECT `+keyColumns+` FROM keys WHERE id = ?1`, id[:])
	if err == nil && !found {
		err = notFound("no key of that id")
	}
	return k, err
}
