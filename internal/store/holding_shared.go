package store

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"stockrewards/internal/rewards"
)

// sharedHoldings has users' holdings in memory where other processes change them too. Each transaction that
// changes holdings notes its users in holding_changes. Each round of reads learns from that whose holdings
// were changed since the round before, in the snapshot in which it reads the holdings that are not in
// memory. So everything that a round returns is as of its snapshot. Rounds follow each other: the rest of
// the program does not use it.
type sharedHoldings struct {
	entries generations[int64, sharedEntry] // by the hash of the user
	newest  changeMark                      // of the changes that the entries include
}

// sharedEntry is what a user has.
type sharedEntry struct {
	user     userKey
	holdings []rewards.Holding
}

// changeMark identifies a change of holdings, also after the database was restored: a change that was lost and
// another one with its number have different marks.
type changeMark struct{ number, mark int64 }

// heldRead is what a round found for a user who exists.
type heldRead struct {
	holdings []rewards.Holding
	changed  bool // since they were read into memory: read again
}

func newSharedHoldings() *sharedHoldings {
	size := func(e sharedEntry) int { return sizeOfHoldings(e.holdings) }
	return &sharedHoldings{entries: newGenerations[int64](maxCachedHoldings, size)}
}

// read reads the holdings of a round. Users who do not exist are missing.
func (c *sharedHoldings) read(ctx context.Context, tx Tx, round []userKey) (map[userKey]heldRead, error) {
	var missing []userKey
	for _, k := range round {
		if !c.has(k) {
			missing = append(missing, k)
		}
	}
	found, err := holdingsByColumn(ctx, only(tx), missing, c.newest.number)
	switch {
	case err != nil:
		return nil, err
	case found.lag:
		return nil, errSweeping
	}
	c.follow(found.changes)
	values := make(map[userKey]heldRead, len(round))
	for _, k := range round {
		if e, held := c.entries.get(userHash(k.user)); held && e.user == k {
			values[k] = heldRead{holdings: e.holdings}
		} else {
			values[k] = heldRead{changed: true}
		}
	}
	for i, k := range missing {
		if !found.exists[i] {
			delete(values, k)
			continue
		}
		list := slices.Clone(found.lists[i]) // without room to grow
		values[k] = heldRead{holdings: list}
		c.entries.put(userHash(k.user), sharedEntry{k, list})
	}
	return values, nil
}

func (c *sharedHoldings) has(k userKey) bool {
	e, held := c.entries.get(userHash(k.user))
	return held && e.user == k
}

// follow forgets the users whose holdings were changed, or everybody when it is not known who they are.
func (c *sharedHoldings) follow(f followedChanges) {
	if f.everyone || !slices.Contains(f.marks, c.newest) {
		c.entries.clear()
	}
	for _, hash := range f.users {
		c.entries.drop(hash)
	}
	c.newest = changeMark{}
	for _, m := range f.marks {
		if m.number > c.newest.number {
			c.newest = m
		}
	}
}

// followedChanges are the newest changes of holdings.
type followedChanges struct {
	marks    []changeMark // with the first number that was asked for, unless the reader knows too little
	users    []int64      // hashes
	everyone bool         // holdings of all users may have changed
}

const (
	hashLength = 8
	// usersOfChange is how many users a row of holding_changes has, so that PostgreSQL keeps it in one page.
	usersOfChange = 200
	// keptChanges is how many rows holding_changes has.
	keptChanges = 256
	// mostChanges is how many rows a transaction writes at most; it says that all holdings change rather than
	// write more.
	mostChanges = 32
)

// add adds a row of holding_changes, with the first number that was asked for.
func (f *followedChanges) add(m changeMark, users []byte, since int64) {
	f.marks = append(f.marks, m)
	if m.number == since {
		return
	}
	if len(users)%hashLength != 0 {
		users = nil // damaged
	}
	f.everyone = f.everyone || len(users) == 0
	for hash := range slices.Chunk(users, hashLength) {
		f.users = append(f.users, int64(binary.BigEndian.Uint64(hash)))
	}
}

// noteHoldingChange notes in the transaction that it changes holdings of users, or of everyone when there are
// none. All such transactions exclude each other, so the numbers have no gaps and have the order of the commits.
// A row is used again after keptChanges changes; if it is missing, the transaction fails.
func noteHoldingChange(ctx context.Context, tx Tx, users []userKey) error {
	rows := make([][]byte, 0, mostChanges)
	for part := range slices.Chunk(users, usersOfChange) {
		row := make([]byte, 0, len(part)*hashLength)
		for _, k := range part {
			row = append(row, k.user[8:]...)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 || len(rows) > mostChanges {
		rows = [][]byte{{}}
	}
	return execLater(ctx, tx, `WITH noted AS (
		UPDATE holding_changes c SET number = m.newest + k.place, mark = m.mark, users = k.users
		FROM (SELECT max(number) AS newest, (random() * 9007199254740992)::bigint AS mark FROM holding_changes) AS m
		CROSS JOIN unnest(?1::bytea[]) WITH ORDINALITY AS k (users, place)
		WHERE c.number = m.newest + k.place - ?2 RETURNING c.number)
		SELECT 1 / (count(*) = cardinality(?1::bytea[]))::int FROM noted`, rows, int64(keptChanges))
}

// newestChanges finds the changes from a number on, at most 64. The columns are those of holdingsByColumn.
const newestChanges = `SELECT 0::bigint AS place, c.number, c.mark, 0::bigint, 0::bigint, false, c.users
	FROM (SELECT number, mark, users FROM holding_changes WHERE number >= ?1 ORDER BY number DESC LIMIT 64) AS c`

// noChanges is a number that no change has.
const noChanges = math.MaxInt64

// usualHoldings is the room for holdings in the list of a user.
const usualHoldings = 8

// foundHoldings are the holdings of some users.
type foundHoldings struct {
	lists   [][]rewards.Holding // by user
	exists  []bool              // by user
	lag     bool                // a sweep has not reached some holding
	changes followedChanges
}

// holdingsByColumn reads the holdings of users and the changes of holdings since a number, in one statement. A
// user without holdings has one row of zeros, and only such a user is looked up. Only an open switch has
// holdings that its sweep has not reached.
func holdingsByColumn(ctx context.Context, tx Tx, keys []userKey, since int64) (found foundHoldings, err error) {
	found.lists, found.exists = make([][]rewards.Holding, len(keys)), make([]bool, len(keys))
	var h rewards.Holding
	var place int64 // of the user in keys, from 1; 0: a change
	var behind bool
	var users []byte
	row := []any{
		&place, (*int64)(&h.AssetID), (*int64)(&h.Quantity), (*int64)(&h.CostBasis), &h.Generation, &behind,
		toBytes{&users},
	}
	each := func(r Row) error {
		if err := r.Scan(row...); err != nil {
			return err
		}
		if place == 0 {
			found.changes.add(changeMark{int64(h.AssetID), int64(h.Quantity)}, users, since)
			return nil
		}
		i := place - 1
		found.exists[i] = true
		if h.AssetID != 0 {
			if found.lists[i] == nil {
				found.lists[i] = make([]rewards.Holding, 0, usualHoldings)
			}
			found.lists[i] = append(found.lists[i], h)
		}
		found.lag = found.lag || behind
		return nil
	}
	if len(keys) == 0 {
		err = tx.Query(ctx, each, newestChanges, since)
		return found, err
	}
	apps, ids := make([][]byte, len(keys)), make([][]byte, len(keys))
	for i := range keys {
		apps[i], ids[i] = keys[i].app[:], keys[i].user[:]
	}
	err = tx.Query(ctx, each, newestChanges+` UNION ALL SELECT k.place, coalesce(h.asset_id, 0),
		coalesce(h.quantity, 0), coalesce(h.cost_basis, 0), coalesce(h.generation, 0),
		coalesce(h.asset_id = (SELECT s.asset_id FROM switches s WHERE s.swept_at = 0)
			AND h.generation < (SELECT s.generation FROM switches s WHERE s.swept_at = 0), false), ''::bytea
		FROM unnest(?2::bytea[], ?3::bytea[]) WITH ORDINALITY AS k (app_id, user_id, place)
		LEFT JOIN holdings h ON h.app_id = k.app_id AND h.user_id = k.user_id
		WHERE h.asset_id IS NOT NULL
			OR (SELECT u.id FROM users u WHERE u.app_id = k.app_id AND u.id = k.user_id) IS NOT NULL`, since, apps, ids)
	return found, err
}
