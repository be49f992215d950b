package sqlite

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"stockrewards/internal/store"
)

// Rows that are inserted many at once are those that are inserted one by one, in their order, whatever follows
// VALUES and however many there are. One that may not be stored fails all of them.
func TestInsertingManyRows(t *testing.T) {
	t.Parallel()
	e, err := Open(t.Context(), Memory, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	const create = `CREATE TABLE %s (a INTEGER NOT NULL, b TEXT NOT NULL, c BLOB NOT NULL, n INTEGER NOT NULL, UNIQUE (a))`
	inserts := map[string]string{
		"plain":  `INSERT INTO %s (a, b, c, n) VALUES (?1, ?2, x'00ff', ?3)`,
		"upsert": `INSERT INTO %s (a, b, c, n) VALUES (?1 / 3, ?2, x'', ?3) ON CONFLICT (a) DO UPDATE SET n = n + excluded.n`,
		"keep":   `INSERT INTO %s (b, a, c, n) VALUES (?2, ?1 / 3, x'', ?3) ON CONFLICT (a) DO NOTHING`,
		"with an argument at the end": `INSERT INTO %s (a, b, c, n) VALUES (?1, ?2, x'', ?3)
			ON CONFLICT (a) DO UPDATE SET n = ?3`,
	}
	for name, insert := range inserts {
		for _, count := range []int{0, 1, manyRows - 1, manyRows, 3*manyRows + 5} {
			rows := make([][]any, count)
			for i := range rows {
				rows[i] = []any{int64(i), fmt.Sprint("text ", i), int64(i * i)}
			}
			write(t, e, func(ctx context.Context, tx store.Tx) error {
				single := inserted(ctx, t, tx, create, func(table string) (sum int64) {
					for _, row := range rows {
						n, err := tx.Exec(ctx, fmt.Sprintf(insert, table), row...)
						noError(t, err)
						sum += n
					}
					return sum
				})
				several := inserted(ctx, t, tx, create, func(table string) int64 {
					n, err := tx.ExecEach(ctx, fmt.Sprintf(insert, table), rows)
					noError(t, err)
					return n
				})
				if !slices.Equal(single, several) || len(several) <= min(count, 1) {
					t.Errorf("%s, %d rows: stored %v, one by one %v", name, count, several, single)
				}
				return nil
			})
		}
	}
	write(t, e, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Exec(ctx, fmt.Sprintf(create, "refused"))
		noError(t, err)
		rows := make([][]any, manyRows)
		for i := range rows {
			rows[i] = []any{int64(i % (manyRows - 1)), "", int64(i)}
		}
		if _, err := tx.ExecEach(ctx, fmt.Sprintf(inserts["plain"], "refused"), rows); err == nil {
			t.Error("a number was stored twice")
		}
		if got := read(ctx, t, tx, "refused"); len(got) > 0 {
			t.Errorf("after an error %v is stored", got)
		}
		return nil
	})
}

// inserted lists how many rows an insertion into a new table counted, and those that it stored.
func inserted(ctx context.Context, t *testing.T, tx store.Tx, create string, insert func(table string) int64) []string {
	t.Helper()
	const table = "inserted"
	_, err := tx.Exec(ctx, fmt.Sprintf(create, table))
	noError(t, err)
	stored := []string{fmt.Sprint(insert(table), " counted")}
	stored = append(stored, read(ctx, t, tx, table)...)
	_, err = tx.Exec(ctx, `DROP TABLE `+table)
	noError(t, err)
	return stored
}

func write(t *testing.T, e *Engine, f func(context.Context, store.Tx) error) {
	t.Helper()
	noError(t, e.Write(t.Context(), f))
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read lists the rows of a table.
func read(ctx context.Context, t *testing.T, tx store.Tx, table string) (rows []string) {
	t.Helper()
	noError(t, tx.Query(ctx, func(row store.Row) error {
		var text string
		err := row.Scan(&text)
		rows = append(rows, text)
		return err
	}, `SELECT a || ' ' || b || ' ' || hex(c) || ' ' || n FROM `+table+` ORDER BY rowid`))
	return rows
}
