package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/sqlite"
)

// A damaged page is no end of the service: who reads it gets an error that says what to do, and others read on. Who writes to
// it stops the process.
func TestADamagedPage(t *testing.T) {
	t.Parallel()
	path := file(t)
	e, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	check(t, err)
	row := bytes.Repeat([]byte("to be damaged "), 200)
	check(t, e.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		for n := range 50 {
			if _, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES (?1 || ?2, ?2)`, n, string(row)); err != nil {
				return err
			}
		}
		return nil
	}))
	check(t, e.Close())
	content, err := os.ReadFile(path)
	check(t, err)
	const page = 4096
	for at := 0; at+page <= len(content); at += page {
		if bytes.Count(content[at:at+page], []byte("to be damaged")) > 100 {
			copy(content[at:], bytes.Repeat([]byte{0xa5}, page))
		}
	}
	check(t, os.WriteFile(path, content, 0o600))

	e, err = sqlite.Open(t.Context(), path, sqlite.Options{})
	check(t, err)
	t.Cleanup(func() { check(t, e.Close()) })
	wantDamaged := func(err error) {
		t.Helper()
		if rewards.CodeOf(err) != rewards.CodeUnavailable || !errors.Is(err, store.ErrDamaged) {
			t.Errorf("the damage is %v", err)
		}
	}
	count := func(query string) (n int, err error) {
		err = e.Read(t.Context(), func(ctx context.Context, tx store.Tx) error {
			return tx.Query(ctx, func(row store.Row) error { return row.Scan(&n) }, query)
		})
		return n, err
	}
	_, err = count(`SELECT count(*) FROM settings WHERE value <> 'x'`)
	wantDamaged(err)
	if n, err := count(`SELECT count(*) FROM rewards`); n != 0 || err != nil {
		t.Errorf("beside the damage: %d, %v", n, err)
	}
	select {
	case err := <-e.Failed():
		t.Errorf("a read stops the process: %v", err)
	default:
	}
	wantDamaged(e.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE settings SET value = 'x'`)
		return err
	}))
	if err := <-e.Failed(); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("the process stops by %v", err)
	}
}
