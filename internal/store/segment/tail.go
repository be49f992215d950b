// Package segment finds rewards by a hash, without an index that every new reward changes at
// random. Rewards are numbered in order of arrival and cut into segments of equal size. While
// a segment grows, a Tail in memory finds its rewards. A full segment is sealed: its entries are
// stored in the order of their hashes, and a Filter in memory says which hashes it lacks. This
// package knows no SQL: package store reads and writes the entries. See internal/store/LAYOUT.md.
package segment

import (
	"hash/maphash"
	"math/bits"
	"slices"
)

// Size is the default number of rewards in a segment.
const Size = 1 << positionBits

// ColumnSize is about how many rewards a segment has over PostgreSQL. There one or two segments are in memory, 60 bytes
// for each reward, and a user's list reads a block of each of the others.
const ColumnSize = 1 << 19

// Tail is the index of one segment that is not sealed yet. It is not safe for concurrent use.
type Tail struct {
	first int64 // number of the first reward
	keys  chains
	users chains
}

// NewTail returns an empty tail whose first reward has the number first.
func NewTail(first int64) *Tail {
	return &Tail{first: first, keys: newChains(), users: newChains()}
}

// Add adds the next reward by the hashes of its idempotency key and of its user.
func (t *Tail) Add(key, user int64) {
	t.keys.add(key)
	t.users.add(user)
}

// First is the number of the first reward.
func (t *Tail) First() int64 { return t.first }

// Next is the number that the next added reward gets.
func (t *Tail) Next() int64 { return t.first + int64(len(t.keys.hashes)) }

// ByKey appends the numbers of the rewards whose key has a hash, newest first.
func (t *Tail) ByKey(numbers []int64, hash int64) []int64 {
	return t.keys.find(numbers, hash, t.first, t.Next())
}

// ByUser appends the numbers below a bound of the rewards whose user has a hash, newest first.
func (t *Tail) ByUser(numbers []int64, hash, below int64) []int64 {
	return t.users.find(numbers, hash, t.first, below)
}

// Keys returns the entries by key, in their order. The tail must be of a full segment, as Users and Filter also need.
func (t *Tail) Keys() []Entry { return t.keys.sorted() }

// Users returns the entries by user, in their order.
func (t *Tail) Users() []Entry { return t.users.sorted() }

// Filter returns the filter of the tail's keys.
func (t *Tail) Filter(number int64) *Filter {
	f := NewFilter(number, len(t.keys.hashes))
	for _, hash := range t.keys.hashes {
		f.Add(number, hash)
	}
	return f
}

// chains is a hash table of entries, which are counted from 0. A chain links the entries of a
// bucket, newest first. Go's maps would take several times the memory. The bucket of a hash depends on a random
// number, so that nobody can choose keys for one bucket.
type chains struct {
	random uint64  // odd
	newest []int32 // of each bucket; none: -1
	older  []int32 // the entry before in the bucket of an entry; none: -1
	hashes []int64
}

const fewestBuckets = 64

func newChains() chains {
	c := chains{random: maphash.Comparable(maphash.MakeSeed(), 0) | 1}
	c.spread(fewestBuckets)
	return c
}

// spread links all entries in a number of buckets, a power of two.
func (c *chains) spread(buckets int) {
	c.newest = make([]int32, buckets)
	for i := range c.newest {
		c.newest[i] = -1
	}
	for i, hash := range c.hashes {
		c.link(i, hash)
	}
}

func (c *chains) bucket(hash int64) *int32 {
	return &c.newest[uint64(hash)*c.random>>(65-bits.Len(uint(len(c.newest))))]
}

func (c *chains) link(entry int, hash int64) {
	head := c.bucket(hash)
	c.older[entry], *head = *head, int32(entry)
}

func (c *chains) add(hash int64) {
	if len(c.hashes) == len(c.newest) {
		c.spread(2 * len(c.newest))
	}
	c.hashes, c.older = append(c.hashes, hash), append(c.older, -1)
	c.link(len(c.hashes)-1, hash)
}

// find appends the numbers below a bound of the entries with a hash, newest first.
func (c *chains) find(numbers []int64, hash, first, below int64) []int64 {
	for at := *c.bucket(hash); at >= 0; at = c.older[at] {
		if number := first + int64(at); c.hashes[at] == hash && number < below {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

func (c *chains) sorted() []Entry {
	entries := make([]Entry, len(c.hashes))
	for i, hash := range c.hashes {
		entries[i] = NewEntry(hash, int64(i))
	}
	slices.Sort(entries)
	return entries
}
