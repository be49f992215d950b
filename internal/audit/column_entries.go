package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// columnEntries compares over PostgreSQL what finds rewards by their idempotency keys with the rewards: the batches of
// the segments that are not sealed, and the blocks of the others.
type columnEntries struct {
	s          *columnSegments
	want, have *reader.Sorter // entries of segments, in order
}

// keyEntry finds a reward by its key: a segment, 8 bytes of the key's hash, or 6 in a block, and the reward's id.
type keyEntry struct{ at string }

// The parts of batches and blocks, in bytes.
const (
	hashBytes     = 8
	partBytes     = 6 // of the hash, in a block
	startBytes    = 4 // of the hash, in the place of a block
	keyEntryBytes = partBytes + value.IDBytes
	orderedBytes  = 8 // of a number in order
)

// These say where the keys of a segment are.
const (
	inBatches = 1
	inBlocks  = 2 // 0 is an index of the database, in a store of an earlier version
)

func (s *columnSegments) openEntries() (*columnEntries, error) {
	e := &columnEntries{s: s, want: s.a.r.NewSorter(), have: s.a.r.NewSorter()}
	return e, errors.Join(e.readBatches(), e.readBlocks())
}

func (e *columnEntries) fail(where, has, want string) {
	e.s.a.t.fail(checkSegmentEntries, where, has, want)
}

func addEntry(to *reader.Sorter, segment int64, hash, id string) error {
	at := ordered(segment) + hash + id
	return to.Add([]any{&at})
}

// readBatches checks the batches alone, and keeps their entries.
func (e *columnEntries) readBatches() error {
	type batch struct {
		number, segment int64
		keys, ids       string
	}
	var last batch
	rows := 0
	c, err := reader.Open(e.s.a.r, reader.Stream[batch]{
		What:  "batches of rewards",
		Query: `SELECT number, segment::bigint, keys, ids FROM reward_batches ORDER BY number`,
		Bind:  func(b *batch) []any { return []any{&b.number, &b.segment, &b.keys, &b.ids} },
	})
	if err != nil {
		return err
	}
	err = c.Each(func(b *batch) error {
		where, many := "the batch "+value.Int(b.number), len(b.keys)/hashBytes
		switch {
		case rows > 0 && b.number != last.number+1:
			e.fail(where, "this number", "the number "+value.Int(last.number+1))
		case b.segment < last.segment || e.s.keys[b.segment] != inBatches:
			e.fail(where, segmentName(b.segment), "a segment that is not sealed, in order")
		case len(b.keys) != many*hashBytes || len(b.ids) != many*value.IDBytes:
			e.fail(where, value.Int(int64(len(b.keys)))+" and "+value.Int(int64(len(b.ids)))+" bytes",
				"8 and 16 for each reward")
			many = 0
		}
		rows++
		last = batch{number: b.number, segment: b.segment}
		for i := range many {
			hash, id := b.keys[i*hashBytes:(i+1)*hashBytes], b.ids[i*value.IDBytes:(i+1)*value.IDBytes]
			if err := addEntry(e.have, b.segment, hash, id); err != nil {
				return err
			}
		}
		return nil
	})
	if rows == 0 || last.segment != e.s.count-1 {
		e.fail("the newest batch", segmentName(last.segment), segmentName(e.s.count-1)+", the newest one")
	}
	return err
}

// readBlocks checks the blocks alone, and keeps their entries.
func (e *columnEntries) readBlocks() error {
	type block struct {
		place   int64
		entries string
	}
	before := ""
	c, err := reader.Open(e.s.a.r, reader.Stream[block]{
		What: "blocks of keys", Query: `SELECT place, entries FROM key_blocks ORDER BY place`,
		Bind: func(b *block) []any { return []any{&b.place, &b.entries} },
	})
	if err != nil {
		return err
	}
	return c.Each(func(b *block) error {
		where, segment := "the block of keys "+value.Int(b.place), b.place>>32
		if b.entries == "" || len(b.entries)%keyEntryBytes != 0 {
			e.fail(where, value.Int(int64(len(b.entries)))+" bytes", "22 for each entry")
			return nil
		}
		if uint32(b.place) != binary.BigEndian.Uint32([]byte(b.entries[:startBytes])) {
			e.fail(where, "another place", "the place of its first entry")
		}
		if e.s.keys[segment] == inBatches && segment == e.s.count-1 {
			e.fail(where, "entries", "none, as "+segmentName(segment)+" gets more rewards")
		}
		for at := 0; at < len(b.entries); at += keyEntryBytes {
			hash := b.entries[at : at+partBytes]
			here := ordered(segment) + hash
			if here < before || at == 0 && strings.HasPrefix(before, here[:orderedBytes+startBytes]) {
				e.fail(where, "entries in another order", "the order of the hashes, and equal ones in one block")
			} else {
				before = here
			}
			if e.s.keys[segment] != inBlocks && segment < e.s.count-1 {
				continue // it is being sealed
			}
			if err := addEntry(e.have, segment, hash, b.entries[at+partBytes:at+keyEntryBytes]); err != nil {
				return err
			}
		}
		return nil
	})
}

// add notes that a reward must be found by its key.
func (e *columnEntries) add(r *reward) error {
	sum := sha256.Sum256([]byte(r.app + r.key))
	switch e.s.keys[r.number] {
	case inBatches:
		return addEntry(e.want, r.number, string(sum[:hashBytes]), r.id)
	case inBlocks:
		return addEntry(e.want, r.number, string(sum[:partBytes]), r.id)
	default:
		return nil
	}
}

// end compares the entries with those of the rewards.
func (e *columnEntries) end() error {
	open := func(from *reader.Sorter) (*reader.Cursor[keyEntry], error) {
		return reader.OpenSorted(e.s.a.r, reader.Stream[keyEntry]{
			What: "rewards by key",
			Bind: func(k *keyEntry) []any { return []any{&k.at} },
			Key:  func(k *keyEntry) reader.Key { return reader.Key{k.at} },
		}, from)
	}
	want, err := open(e.want)
	if err != nil {
		return err
	}
	have, err := open(e.have)
	if err != nil {
		return err
	}
	stray := func(k *keyEntry) { e.fail(e.name(k), "an entry", "an entry of a reward of the segment, once") }
	err = want.Each(func(k *keyEntry) error {
		e.s.a.t.row(checkSegmentEntries)
		found := 0
		err := have.Claim(reader.Key{k.at}, func(*keyEntry) { found++ }, stray)
		if found != 1 {
			e.fail(e.name(k), value.Int(int64(found))+" entries", "one")
		}
		return err
	})
	if err != nil {
		return err
	}
	return have.Rest(stray)
}

func entrySegment(k *keyEntry) int64 {
	return int64(binary.BigEndian.Uint64([]byte(k.at[:orderedBytes])) ^ 1<<63)
}

func (e *columnEntries) name(k *keyEntry) string {
	number, id := entrySegment(k), k.at[orderedBytes+partBytes:]
	if e.s.keys[number] == inBatches {
		id = k.at[orderedBytes+hashBytes:]
	}
	return segmentName(number) + ": reward " + value.UUID(id) + " by key"
}
