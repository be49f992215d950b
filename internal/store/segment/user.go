package segment

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// UserPart is what an entry has of a user: 6 bytes of the end of the id, which are random. Two users may have the same:
// whoever finds a reward compares its user.
type UserPart int64

const userPartBytes = 6

// NewUserPart returns the part of a user by the last 8 bytes of the id. It begins with the last 4 of them, because the
// index of an earlier version has these.
func NewUserPart(hash int64) UserPart { return UserPart(hash&(1<<32-1)<<16 | hash>>32&(1<<16-1)) }

// ParseUserPart reads the 6 bytes of a part.
func ParseUserPart(b []byte) (user UserPart) {
	for _, c := range b[:userPartBytes] {
		user = user<<8 | UserPart(c)
	}
	return user
}

// Append appends the 6 bytes of the part, the highest one first.
func (u UserPart) Append(b []byte) []byte {
	return append(b, byte(u>>40), byte(u>>32), byte(u>>24), byte(u>>16), byte(u>>8), byte(u))
}

// UserEntry finds a reward of a sealed segment by its user: the part of the user, and the id.
type UserEntry [UserEntryBytes]byte

// UserEntryBytes is the length of an entry.
const UserEntryBytes = userPartBytes + idBytes

// NewUserEntry returns the entry of a reward.
func NewUserEntry(user UserPart, id ID) (e UserEntry) {
	user.Append(e[:0])
	copy(e[userPartBytes:], id[:])
	return e
}

// UserBlock has 55 entries of a segment, the last one fewer, in the order of the users' parts and of the ids.
type UserBlock []byte

// UserBlocks sorts entries, and cuts them into blocks.
func UserBlocks(entries []UserEntry) (blocks []UserBlock) {
	slices.SortFunc(entries, func(a, b UserEntry) int { return bytes.Compare(a[:], b[:]) })
	for part := range slices.Chunk(entries, idsPerBlock) {
		b := make(UserBlock, 0, len(part)*UserEntryBytes)
		for i := range part {
			b = append(b, part[i][:]...)
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// First is the first entry of the block.
func (b UserBlock) First() []byte { return b[:min(len(b), UserEntryBytes)] }

// Sound reports whether the block has whole entries in their order. Damage of the disk breaks this, mostly.
func (b UserBlock) Sound() bool {
	if len(b) == 0 || len(b)%UserEntryBytes != 0 {
		return false
	}
	var before []byte
	for entry := range slices.Chunk(b, UserEntryBytes) {
		if bytes.Compare(entry, before) <= 0 || ID(entry[userPartBytes:]).isTooLate() {
			return false
		}
		before = entry
	}
	return true
}

// OfUser adds a user's rewards before an id. rows are those of the block's rewards, if they are known.
func (b UserBlock) OfUser(to *Newest, user UserPart, before ID, rows []byte) {
	part := user.Append(nil)
	for i := range len(b) / UserEntryBytes {
		entry := b[i*UserEntryBytes : (i+1)*UserEntryBytes]
		if !bytes.HasPrefix(entry, part) {
			continue
		}
		var row Row
		if len(rows) >= (i+1)*rowBytes {
			row = Row(rows[i*rowBytes:])
		}
		if id := ID(entry[userPartBytes:]); id.Compare(before) < 0 {
			to.addRow(id, row)
		}
	}
}

// BlocksFor is how many blocks that begin with a user may have the newest ones of the user's rewards before an id. The
// last one may have others, too.
func BlocksFor(rewards int) int { return rewards/idsPerBlock + 2 }

// Compare compares the bytes of ids. Those of later rewards are greater.
func (id ID) Compare(other ID) int { return bytes.Compare(id[:], other[:]) }

// NewestFirst compares ids in the order of lists.
func NewestFirst(a, b ID) int { return b.Compare(a) }

// millis is the time of the id.
func (id ID) millis() int64 { return int64(binary.BigEndian.Uint64(id[:]) >> 16) }

// Newest collects the newest ones of some ids.
type Newest struct {
	most int
	ids  []ID  // newest first
	rows []Row // where their rows may be
}

// NewNewest collects at most that many, at least one.
func NewNewest(most int) *Newest { return &Newest{most: most} }

// Add adds an id that was not added before.
func (n *Newest) Add(id ID) { n.addRow(id, Row{}) }

// addRow is Add with the row where the reward may be, or zero.
func (n *Newest) addRow(id ID, row Row) {
	at := len(n.ids) // mostly the next one is older
	if at > 0 && n.oldest().Compare(id) < 0 {
		at, _ = slices.BinarySearchFunc(n.ids, id, NewestFirst)
	}
	if at == n.most {
		return
	}
	if n.full() {
		n.ids, n.rows = n.ids[:n.most-1], n.rows[:n.most-1]
	}
	n.ids, n.rows = slices.Insert(n.ids, at, id), slices.Insert(n.rows, at, row)
}

// Rows returns where those of the list may be, or zero.
func (n *Newest) Rows() []Row { return n.rows }

// List returns what was collected, newest first.
func (n *Newest) List() []ID { return n.ids }

// Most is how many are collected at most.
func (n *Newest) Most() int { return n.most }

func (n *Newest) full() bool { return len(n.ids) == n.most }

func (n *Newest) oldest() ID { return n.ids[len(n.ids)-1] }
