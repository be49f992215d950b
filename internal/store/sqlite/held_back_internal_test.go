package sqlite

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/store"
)

// A reader of another program that stays open lets the log grow. It is reported after a minute, until it ends.
func TestALogThatIsHeldBackIsReported(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rewards.db")
	synctest.Test(t, func(t *testing.T) {
		e, err := Open(t.Context(), path, Options{Sole: true})
		check(t, err)
		defer func() { check(t, e.Close()) }()
		put := func(bytes int) {
			t.Helper()
			check(t, e.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES (?1, hex(zeroblob(?2)))`,
					time.Now().String(), bytes/2)
				return err
			}))
			time.Sleep(checkEvery)
			synctest.Wait()
		}
		want := func(when, part string) {
			t.Helper()
			message, err := e.HeldBack(t.Context())
			check(t, err)
			if !strings.Contains(message, part) || (message == "") != (part == "") {
				t.Errorf("%s: %q, want %q", when, message, part)
			}
		}
		e.carry.large = maxLog // to write largeLog would take twenty seconds
		for range 9 {
			put(2_000_000)
		}
		time.Sleep(time.Hour)
		want("without a reader", "")

		reader, err := connect(t.Context(), fileName(path))
		check(t, err)
		defer func() { check(t, reader.close()) }()
		_, err = reader.Exec(t.Context(), "BEGIN")
		check(t, err)
		check(t, reader.Query(t.Context(), func(store.Row) error { return nil }, `SELECT count(*) FROM settings`))
		e.carry.large = maxLog / 10
		put(3_000_000)
		time.Sleep(longTime - checkEvery)
		want("before a minute", "")
		time.Sleep(checkEvery)
		want("after a minute", "has ")
		_, err = reader.Exec(t.Context(), "ROLLBACK")
		check(t, err)
		check(t, e.carry.checkpoint(t.Context())) // as it does itself when maxLog is reached
		want("after its end", "")
		put(2)
		want("after the next write", "")
	})
}
