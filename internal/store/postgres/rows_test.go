package postgres_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/storetest"
)

// watched shows the statements of reads that have no transaction.
type watched struct {
	store.Engine

	read func(query string)
}

func (e watched) Read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Engine.Read(ctx, func(ctx context.Context, tx store.Tx) error {
		network, ok := tx.(store.NetworkTx)
		if !ok {
			return errors.New("the transaction is not over a network")
		}
		return f(ctx, watchedTx{network, e})
	})
}

type watchedTx struct {
	store.NetworkTx

	engine watched
}

func (watchedTx) AcceptsColumns() {}

func (tx watchedTx) QueryOnly(ctx context.Context, each func(store.Row) error, query string, args ...any) error {
	tx.engine.read(query)
	return tx.NetworkTx.QueryOnly(ctx, each, query, args...)
}

// byRows counts the lists that read rewards by their rows.
type byRows struct{ lists int }

func (r *byRows) count(query string) {
	if strings.Contains(query, "ctid = ANY") {
		r.lists++
	}
}

// withRows makes a store with sealed segments whose blocks have the rows of final rewards, and counts its lists.
func withRows(t *testing.T) (*segmented, *store.Store, *byRows) {
	t.Helper()
	w := newSegmented(t, 1)
	for range 6 * storetest.SegmentSize {
		w.give(t, w.processes[0])
	}
	w.exec(t, `update rewards set status = 3, booked = amount, executed_at = 1 where id in (select id from rewards order by id limit $1)`,
		4*storetest.SegmentSize)
	w.exec(t, `delete from open_rewards o using rewards r where r.app_id = o.app_id and r.id = o.id and r.status = 3`)
	w.seal(t, w.processes[0])
	r := new(byRows)
	s, err := store.New(t.Context(), watched{open(t, w.url, postgres.Options{}), r.count}, time.Now, rand.Reader)
	check(t, err)
	return w, s, r
}

// wantPages checks the whole list of each user, page by page.
func (w *segmented) wantPages(t *testing.T, by *store.Store) {
	t.Helper()
	of := make(map[rewards.UserID][]rewards.RewardID)
	for i, r := range w.requests {
		of[r.UserID] = append([]rewards.RewardID{w.ids[i]}, of[r.UserID]...)
	}
	for user, want := range of {
		page := rewards.Page[rewards.Reward]{Limit: 3}
		for len(want) > 0 {
			list, err := by.Rewards(t.Context(), w.App.ID, rewards.RewardFilter{UserID: &user}, page)
			check(t, err)
			if len(list) != min(len(want), page.Limit) {
				t.Fatalf("%d rewards in a page, %d are left", len(list), len(want))
			}
			for i := range list {
				if list[i].ID != want[i] {
					t.Fatalf("%s in place of %s", list[i].ID, want[i])
				}
			}
			want, page.Before = want[len(list):], list[len(list)-1].ID
		}
	}
}

// A list reads final rewards of sealed segments by their rows. An open reward has no row, and is found by its id.
func TestListsByRows(t *testing.T) {
	t.Parallel()
	w, s, e := withRows(t)
	other, err := pgx.Connect(t.Context(), w.url)
	check(t, err)
	defer func() { check(t, other.Close(context.WithoutCancel(t.Context()))) }()
	var known, all int
	blocks, err := w.conn.Query(t.Context(), `select entries, rows from user_blocks`)
	check(t, err)
	for blocks.Next() {
		var entries, rows []byte
		check(t, blocks.Scan(&entries, &rows))
		for i := range len(rows) / 6 {
			var status int
			var at []byte
			id, row := entries[i*22+6:i*22+22], rows[i*6:i*6+6]
			check(t, other.QueryRow(t.Context(), `select status, tidsend(ctid) from rewards where id = $1`, id).Scan(&status, &at))
			if final := status == 3; final != bytes.Equal(row, at) || !final && !bytes.Equal(row, make([]byte, 6)) {
				t.Errorf("status %d, row %x, stored as %x", status, at, row)
			}
			known += status / 3
		}
		all += len(entries) / 22
	}
	check(t, blocks.Err())
	if known < 4*storetest.SegmentSize || known == all {
		t.Errorf("%d of %d rows are known", known, all)
	}
	w.wantPages(t, s)
	if e.lists == 0 {
		t.Error("no list read by rows")
	}
	w.exec(t, `update rewards set status = 3, booked = amount where status = 1`)
	w.exec(t, `delete from open_rewards`)
	w.wantPages(t, s)
}

// Rows that are other rewards' now, or nobody's, change no list. Those of a table that was written again are not used.
func TestRowsOfOthers(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]string{
		"the next one's": `update user_blocks set rows = substring(rows from 7) || substring(rows for 6)`,
		"beyond the end": `update user_blocks set rows = decode(repeat('7fffffff0001', octet_length(rows) / 6), 'hex')`,
		"cut":            `update user_blocks set rows = substring(rows for 9)`,
		"written again":  `vacuum full rewards`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, s, e := withRows(t)
			w.wantPages(t, s)
			if e.lists == 0 {
				t.Error("no list read by rows")
			}
			w.exec(t, move)
			w.wantPages(t, s)
			_, err := s.SealSegment(t.Context()) // reads the segments
			check(t, err)
			before := e.lists
			w.wantPages(t, s)
			if more := e.lists - before; (more == 0) != (name == "written again") {
				t.Errorf("%d more lists read by rows", more)
			}
		})
	}
}
