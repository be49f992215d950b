// Package store keeps everything durable: the SQL, once, for every engine. Each method of
// Store is one atomic step, and the app id comes first in every query for a client. The store
// decides nothing: it reads, asks package rewards, and writes. Interface Engine says what a
// database must provide; package storetest is the contract of the methods.
package store

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"stockrewards/internal/rewards"
)

// Store is the durable state of one installation. It is safe for concurrent use.
type Store struct {
	engine *watched
	ids    *rewards.IDs
	now    func() time.Time
	random io.Reader
	guard  func(nextID time.Time) error // checked before every batch of client requests

	sealedFrom time.Time // rewards and users created since then have a seal; zero: all have one

	rewards  *batchReader[rewardKey, rewards.Reward]
	holdings *batchReader[userKey, heldRead]
	held     *holdingCache   // nil unless the engine is a SoleProcess
	shared   *sharedHoldings // used only by rounds of holdings over a network

	used  sync.Map // rewards.AssetID -> true: assets that are marked as used
	known *knownUsers

	catalogs atomic.Int64 // grows when this process may have changed the catalog

	doubted atomic.Int32 // for how many batches users are doubted

	keysUnread atomic.Bool // the last look-up of a key failed

	filters *filterNotes

	index *rewardIndex // over SQLite

	segments *columnSegments // over PostgreSQL
	lots     *lotIndex

	open openSpace // over PostgreSQL

	budgets budgetCache

	exposed exposures

	clock       func() time.Time // by which leases are judged
	checkLeader func() error     // checked before this process takes a lease or shards of webhooks
	timeline    string           // the SQL expression of the timeline of the database's server
	lease       knownLease

	connects  func() int64 // of the engine; nil: it connects to no server
	connected atomic.Int64 // connects, when used and exposed were emptied last
	recalls   sync.Mutex
}

// New returns the store of an open engine. Runs with the same clock and randomness are the same.
func New(ctx context.Context, engine Engine, now func() time.Time, random io.Reader) (*Store, error) {
	ids, filters := rewards.NewIDs(now, random), new(filterNotes)
	s := &Store{
		engine: &watched{Engine: engine, now: now, pacer: newPacer(engine), patience: newPatience()},
		ids:    ids, now: now, random: random,
		guard: func(time.Time) error { return nil },
		known: newKnownUsers(), held: newHoldingCache(engine), shared: newSharedHoldings(), filters: filters,
		index: newRewardIndex(ids, filters), segments: newColumnSegments(filters), lots: newLotIndex(),
		timeline: `''`, clock: now,
		checkLeader: func() error { return nil },
	}
	if t, ok := engine.(interface{ Timeline() string }); ok {
		s.timeline = t.Timeline()
	}
	s.open.vacuumer, _ = engine.(Vacuumer)
	if c, ok := engine.(interface{ Connects() int64 }); ok {
		s.connects = c.Connects
	}
	s.rewards = newBatchReader(s.engine, rewardKey.ofApp, readRewards)
	s.holdings = newBatchReader(s.engine, userKey.ofApp, s.readHoldings)
	newest, err := s.newestID(ctx)
	if err != nil {
		return nil, err
	}
	if !newest.IsZero() {
		s.ids.StartAfter(newest)
	}
	if err := s.beginLog(ctx, newest); err != nil {
		return nil, err
	}
	s.sealedFrom, err = s.readSealedFrom(ctx)
	return s, err
}

// recall empties what is in memory of marks that are written once, when the engine has connected again: a server that
// took over may have lost the transactions that wrote them.
func (s *Store) recall() {
	if s.connects == nil || s.connected.Load() == s.connects() {
		return
	}
	s.recalls.Lock()
	defer s.recalls.Unlock()
	n := s.connects()
	s.forgetMarks()
	s.connected.Store(n)
}

// forgetMarks empties what is in memory of marks that are written once.
func (s *Store) forgetMarks() {
	s.used.Clear()
	s.exposed.known.Clear()
}

// ShareClock sets the clock by which the processes of a fleet judge leases, and a check that runs before this one takes
// any: one whose own clock is wrong would take what others have. Call it before the first lease.
func (s *Store) ShareClock(clock func() time.Time, checkLeader func() error) {
	s.clock, s.checkLeader = clock, checkLeader
}

// Guard sets a check that runs before every batch of client requests, with the time of the
// next id. Call it before the first batch.
func (s *Store) Guard(check func(nextID time.Time) error) { s.guard = check }

// Close closes the engine.
func (s *Store) Close() error { return s.engine.Close() }

// Durable waits until everything that is committed is durable. RecordRewards, CreateUsers and ChangeUsers do not
// wait for that themselves, so that the next batch is stored meanwhile: whoever answers a client calls Durable
// first. PlanOrder, SaveOrder and SettleOrders do not wait either: BeginAttempt does, before anything is sent. Every
// other method that writes has waited when it returns.
func (s *Store) Durable(ctx context.Context) error { return s.engine.Durable(ctx) }

// Backup writes a consistent copy of the store to a new file while it is in use (see Engine).
func (s *Store) Backup(ctx context.Context, path string) error { return s.engine.Backup(ctx, path) }

// HeldBack says what keeps the database from freeing space (see Engine).
func (s *Store) HeldBack(ctx context.Context) (string, error) { return s.engine.HeldBack(ctx) }

// CheckFiles fails when nothing may be written any more, as a file of the database is gone (see Filed).
func (s *Store) CheckFiles() error {
	if engine, ok := s.engine.Engine.(Filed); ok {
		return engine.CheckFiles()
	}
	return nil
}

// Failed delivers the error after which the process must stop (see Engine).
func (s *Store) Failed() <-chan error { return s.engine.Failed() }

// newestID is the time of the newest order, reward or user.
func (s *Store) newestID(ctx context.Context) (time.Time, error) {
	var newest time.Time
	add := func(row Row) error {
		var id rewards.ID[struct{}]
		if err := row.Scan(toID(&id)); err != nil {
			return err
		}
		if t := id.Time(); t.After(newest) {
			newest = t
		}
		return nil
	}
	err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		for _, query := range []string{
			`SELECT id FROM orders ORDER BY id DESC LIMIT 1`,
			`SELECT id FROM (SELECT (SELECT r.id FROM rewards r WHERE r.app_id = a.id
				ORDER BY r.id DESC LIMIT 1) AS id FROM apps a) AS newest WHERE id IS NOT NULL`,
			`SELECT id FROM (SELECT (SELECT u.id FROM users u WHERE u.app_id = a.id
				ORDER BY u.id DESC LIMIT 1) AS id FROM apps a) AS newest WHERE id IS NOT NULL`,
		} {
			if err := tx.Query(ctx, add, query); err != nil {
				return err
			}
		}
		return nil
	})
	return newest, err
}
