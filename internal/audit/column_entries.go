package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// columnEntries compares over PostgreSQL what finds rewards by their idempotency keys, and by their users, with the
// rewards: the batches of the segments that are not sealed, and the blocks of the others.
type columnEntries struct {
	s           *columnSegments
	keys, users *entryPart
}

// entryPart is what finds rewards by one of both.
type entryPart struct {
	s          *columnSegments
	by         string          // byKey or byUser
	in         map[int64]int64 // where the entries of a segment are
	want, have *reader.Sorter  // entries of segments, in order
}

// foundEntry finds a reward: a segment, 8 bytes of a key's hash, 6 in a block, or 6 of a user, and the reward's id.
type foundEntry struct{ at string }

// The parts of batches and blocks, in bytes.
const (
	hashBytes    = 8
	partBytes    = 6 // of the hash, in a block, and of the user
	startBytes   = 4 // of the hash, in the place of a block
	entryIDBytes = partBytes + value.IDBytes
	orderedBytes = 8 // of a number in order
)

// These say what finds a reward.
const (
	byKey  = "key"
	byUser = "user"
)

// These say where the keys, or the users, of a segment are.
const (
	inBatches = 1
	inBlocks  = 2 // 0 is an index of the database, in a store of an earlier version
)

func (s *columnSegments) openEntries() (*columnEntries, error) {
	part := func(by string, in map[int64]int64) *entryPart {
		return &entryPart{s: s, by: by, in: in, want: s.a.r.NewSorter(), have: s.a.r.NewSorter()}
	}
	e := &columnEntries{s: s, keys: part(byKey, s.keys), users: part(byUser, s.users)}
	return e, errors.Join(e.readBatches(), e.keys.readKeyBlocks(), e.users.readUserBlocks())
}

func (s *columnSegments) failEntry(where, has, want string) {
	s.a.t.fail(checkSegmentEntries, where, has, want)
}

func addEntry(to *reader.Sorter, segment int64, hash, id string) error {
	at := ordered(segment) + hash + id
	return to.Add([]any{&at})
}

// storedBatch is a row of reward_batches.
type storedBatch struct {
	number, segment  int64
	keys, users, ids string
}

// readBatches checks the batches alone, and keeps their entries.
func (e *columnEntries) readBatches() error {
	var last storedBatch
	rows := 0
	c, err := reader.Open(e.s.a.r, reader.Stream[storedBatch]{
		What:  "batches of rewards",
		Query: `SELECT number, segment::bigint, keys, users, ids FROM reward_batches ORDER BY number`,
		Bind:  func(b *storedBatch) []any { return []any{&b.number, &b.segment, &b.keys, &b.users, &b.ids} },
	})
	if err != nil {
		return err
	}
	err = c.Each(func(b *storedBatch) error {
		where := "the batch " + value.Int(b.number)
		if rows > 0 && b.number != last.number+1 {
			e.s.failEntry(where, "this number", "the number "+value.Int(last.number+1))
		} else if b.segment < last.segment || e.s.keys[b.segment] != inBatches {
			e.s.failEntry(where, segmentName(b.segment), "a segment that is not sealed, in order")
		}
		rows++
		last = storedBatch{number: b.number, segment: b.segment}
		return e.addBatch(where, b)
	})
	if rows == 0 || last.segment != e.s.count-1 {
		e.s.failEntry("the newest batch", segmentName(last.segment), segmentName(e.s.count-1)+", the newest one")
	}
	return err
}

// addBatch keeps the entries of a batch.
func (e *columnEntries) addBatch(where string, b *storedBatch) error {
	many, withUsers := len(b.keys)/hashBytes, e.s.users[b.segment] == inBatches
	if len(b.keys) != many*hashBytes || len(b.ids) != many*value.IDBytes ||
		len(b.users) != many*partBytes && (withUsers || b.users != "") {
		e.s.failEntry(where, value.Int(int64(len(b.keys)))+", "+value.Int(int64(len(b.users)))+" and "+
			value.Int(int64(len(b.ids)))+" bytes", "8, 6 and 16 for each reward")
		return nil
	}
	for i := range many {
		id := b.ids[i*value.IDBytes : (i+1)*value.IDBytes]
		err := addEntry(e.keys.have, b.segment, b.keys[i*hashBytes:(i+1)*hashBytes], id)
		if err == nil && withUsers {
			err = addEntry(e.users.have, b.segment, b.users[i*partBytes:(i+1)*partBytes], id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// columnBlock is a row of key_blocks or of user_blocks.
type columnBlock struct {
	place, segment int64
	first, entries string
}

// readKeyBlocks checks the blocks alone, and keeps their entries.
func (p *entryPart) readKeyBlocks() error {
	before := ""
	c, err := reader.Open(p.s.a.r, reader.Stream[columnBlock]{
		What: "blocks of keys", Query: `SELECT place, entries FROM key_blocks ORDER BY place`,
		Bind: func(b *columnBlock) []any { return []any{&b.place, &b.entries} },
	})
	if err != nil {
		return err
	}
	return c.Each(func(b *columnBlock) error {
		where := "the block of keys " + value.Int(b.place)
		b.segment = b.place >> 32
		return p.addBlock(where, b, func(entry string, at int) {
			if at == 0 && uint32(b.place) != binary.BigEndian.Uint32([]byte(entry)) {
				p.s.failEntry(where, "another place", "the place of its first entry")
			}
			here := ordered(b.segment) + entry[:partBytes]
			if here < before || at == 0 && strings.HasPrefix(before, here[:orderedBytes+startBytes]) {
				p.s.failEntry(where, "entries in another order", "the order of the hashes, and equal ones in one block")
			} else {
				before = here
			}
		})
	})
}

// readUserBlocks checks the blocks alone, and keeps their entries.
func (p *entryPart) readUserBlocks() error {
	before := ""
	c, err := reader.Open(p.s.a.r, reader.Stream[columnBlock]{
		What:  "blocks of users",
		Query: `SELECT segment::bigint, first, entries FROM user_blocks ORDER BY segment, first`,
		Bind:  func(b *columnBlock) []any { return []any{&b.segment, &b.first, &b.entries} },
	})
	if err != nil {
		return err
	}
	return c.Each(func(b *columnBlock) error {
		where := "a block of users of " + segmentName(b.segment)
		return p.addBlock(where, b, func(entry string, at int) {
			if at == 0 && b.first != entry {
				p.s.failEntry(where, "another place", "its first entry")
			}
			here := ordered(b.segment) + entry
			if here <= before {
				p.s.failEntry(where, "entries in another order", "the order of the users and of the ids")
			}
			before = here
		})
	})
}

// addBlock keeps the entries of a block. check checks one of them.
func (p *entryPart) addBlock(where string, b *columnBlock, check func(entry string, at int)) error {
	if b.entries == "" || len(b.entries)%entryIDBytes != 0 {
		p.s.failEntry(where, value.Int(int64(len(b.entries)))+" bytes", "22 for each entry")
		return nil
	}
	if p.in[b.segment] == inBatches && b.segment == p.s.count-1 {
		p.s.failEntry(where, "entries", "none, as "+segmentName(b.segment)+" gets more rewards")
	}
	for at := 0; at < len(b.entries); at += entryIDBytes {
		entry := b.entries[at : at+entryIDBytes]
		check(entry, at)
		if p.in[b.segment] != inBlocks && b.segment < p.s.count-1 {
			continue // it is being sealed
		}
		if err := addEntry(p.have, b.segment, entry[:partBytes], entry[partBytes:]); err != nil {
			return err
		}
	}
	return nil
}

// add notes that a reward must be found by its key and by its user.
func (e *columnEntries) add(r *reward) error {
	var errs []error
	sum := sha256.Sum256([]byte(r.app + r.key))
	switch e.keys.in[r.number] {
	case inBatches:
		errs = append(errs, addEntry(e.keys.want, r.number, string(sum[:hashBytes]), r.id))
	case inBlocks:
		errs = append(errs, addEntry(e.keys.want, r.number, string(sum[:partBytes]), r.id))
	}
	if e.users.in[r.number] == inBatches || e.users.in[r.number] == inBlocks {
		errs = append(errs, addEntry(e.users.want, r.number, r.user[12:]+r.user[10:12], r.id))
	}
	return errors.Join(errs...)
}

// end compares the entries with those of the rewards.
func (e *columnEntries) end() error { return errors.Join(e.keys.compare(), e.users.compare()) }

func (p *entryPart) compare() error {
	open := func(from *reader.Sorter) (*reader.Cursor[foundEntry], error) {
		return reader.OpenSorted(p.s.a.r, reader.Stream[foundEntry]{
			What: "rewards by " + p.by,
			Bind: func(k *foundEntry) []any { return []any{&k.at} },
			Key:  func(k *foundEntry) reader.Key { return reader.Key{k.at} },
		}, from)
	}
	want, err := open(p.want)
	if err != nil {
		return err
	}
	have, err := open(p.have)
	if err != nil {
		return err
	}
	stray := func(k *foundEntry) { p.s.failEntry(p.name(k), "an entry", "an entry of a reward of the segment, once") }
	err = want.Each(func(k *foundEntry) error {
		p.s.a.t.row(checkSegmentEntries)
		found := 0
		err := have.Claim(reader.Key{k.at}, func(*foundEntry) { found++ }, stray)
		if found != 1 {
			p.s.failEntry(p.name(k), value.Int(int64(found))+" entries", "one")
		}
		return err
	})
	if err != nil {
		return err
	}
	return have.Rest(stray)
}

func (p *entryPart) name(k *foundEntry) string {
	number := int64(binary.BigEndian.Uint64([]byte(k.at[:orderedBytes])) ^ 1<<63)
	id := k.at[orderedBytes+partBytes:]
	if p.by == byKey && p.in[number] == inBatches {
		id = k.at[orderedBytes+hashBytes:]
	}
	return segmentName(number) + ": reward " + value.UUID(id) + " by " + p.by
}
