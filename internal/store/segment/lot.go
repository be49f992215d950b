package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sort"
)

// Lot says where a lot is found: by its user, at a place among the members of orders.
type Lot struct {
	User  int64 // LotUser of its hash
	Place int64 // below 2^48
}

const (
	lotUserBits = 48
	lotBytes    = 12 // 6 of the user, 6 of the place
	lotsOfBlock = 64
)

// LotUser is what a lot has of the hash of its user: the last 48 bits. Two users may have the same: whoever finds a lot
// compares the user of its reward.
func LotUser(hash int64) int64 { return hash & (1<<lotUserBits - 1) }

// Lots are lots in the order of their users and places, 12 bytes for each, the highest byte first.
type Lots []byte

// NewLots sorts lots.
func NewLots(list []Lot) Lots {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b Lot) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Place, b.Place))
	})
	lots := make(Lots, 0, len(sorted)*lotBytes)
	for _, l := range sorted {
		lots = binary.BigEndian.AppendUint64(lots, uint64(l.User)<<16|uint64(l.Place)>>32)
		lots = binary.BigEndian.AppendUint32(lots, uint32(l.Place))
	}
	return lots
}

// Len is the number of lots.
func (l Lots) Len() int { return len(l) / lotBytes }

// At returns the lot at a position.
func (l Lots) At(i int) Lot {
	high := binary.BigEndian.Uint64(l[i*lotBytes:])
	low := binary.BigEndian.Uint32(l[i*lotBytes+8:])
	return Lot{User: int64(high >> 16), Place: int64(high&(1<<16-1))<<32 | int64(low)}
}

// All returns the lots as a list.
func (l Lots) All() []Lot {
	list := make([]Lot, l.Len())
	for i := range list {
		list[i] = l.At(i)
	}
	return list
}

// Sound reports whether they are whole lots in their order, from a user on. Damage of the disk breaks this, mostly.
func (l Lots) Sound(first int64) bool {
	if len(l) == 0 || len(l)%lotBytes != 0 || l.user(0) != first {
		return false
	}
	for at := lotBytes; at < len(l); at += lotBytes {
		if bytes.Compare(l[at:at+lotBytes], l[at-lotBytes:at]) <= 0 {
			return false
		}
	}
	return true
}

// Places are the places of a user's lots, in order.
func (l Lots) Places(user int64) (places []int64) {
	for i := l.first(user); i < l.Len() && l.user(i) == user; i++ {
		places = append(places, l.At(i).Place)
	}
	return places
}

// first is the position of the first lot of a user, or of one after. The users are random numbers, so it begins where
// the user would be if they were evenly spread, and looks farther and farther from there.
func (l Lots) first(user int64) int {
	n := l.Len()
	low := int(uint64(user) >> 16 * uint64(n) >> (lotUserBits - 16))
	high := low
	for step := 4; low > 0 && l.user(low-1) >= user; step *= 4 {
		low, high = max(0, low-step), low
	}
	for step := 4; high < n && l.user(high) < user; step *= 4 {
		low, high = high, min(n, high+step)
	}
	return low + sort.Search(high-low, func(i int) bool { return l.user(low+i) >= user })
}

func (l Lots) user(i int) int64 { return int64(binary.BigEndian.Uint64(l[i*lotBytes:]) >> 16) }

// Blocks cuts the lots of a segment into parts of 64.
func (l Lots) Blocks() []Lots { return slices.Collect(slices.Chunk(l, lotsOfBlock*lotBytes)) }
