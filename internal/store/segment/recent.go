package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// ID is the id of a reward. Over PostgreSQL rewards have no numbers, so their ids find them.
type ID [idBytes]byte

const idBytes = 16

// Recent finds the rewards of one segment by their idempotency keys and users, in memory, until the segment is sealed.
// It is not safe for concurrent use.
type Recent struct {
	number int64
	keys   chains
	users  chains
	ids    []ID

	latest int64 // the time of the newest id
	back   int64 // how far, at most, an id was before the newest one when it was added
}

// NewRecent returns an empty index of the segment with a number.
func NewRecent(number int64) *Recent {
	return &Recent{number: number, keys: newChains(), users: newChains()}
}

// Segment is the number of the segment.
func (r *Recent) Segment() int64 { return r.number }

// Len is the number of its rewards.
func (r *Recent) Len() int { return len(r.ids) }

// Add adds a reward by the hash of its key.
func (r *Recent) Add(hash int64, id ID) {
	r.keys.add(hash)
	r.ids = append(r.ids, id)
	r.latest = max(r.latest, id.millis())
	r.back = max(r.back, r.latest-id.millis())
}

// AddUser adds the user of the reward that was added last. Nobody may call it for only some rewards of a segment.
func (r *Recent) AddUser(user UserPart) { r.users.add(int64(user)) }

// HasUsers reports whether it has the users of all rewards.
func (r *Recent) HasUsers() bool { return len(r.users.hashes) == len(r.ids) }

// OfUser adds a user's rewards before an id, newest first. It ends with those that are too old.
func (r *Recent) OfUser(to *Newest, user UserPart, before ID) {
	for at := *r.users.bucket(int64(user)); at >= 0; at = r.users.older[at] {
		if r.users.hashes[at] != int64(user) {
			continue
		}
		id := r.ids[at]
		if to.full() && id.millis()+r.back < to.oldest().millis() {
			return // what was added before is older
		}
		if id.Compare(before) < 0 {
			to.Add(id)
		}
	}
}

// Find appends the rewards whose key has a hash, newest first.
func (r *Recent) Find(ids []ID, hash int64) []ID {
	for _, position := range r.keys.find(nil, hash, 0, int64(len(r.ids))) {
		ids = append(ids, r.ids[position])
	}
	return ids
}

// Has reports whether it has a reward, whatever its key is. It looks at all.
func (r *Recent) Has(id ID) bool { return slices.Contains(r.ids, id) }

// Filter returns the filter of the keys, made for a number of them.
func (r *Recent) Filter(keys int) *Filter {
	f := NewFilter(r.number, keys)
	for _, hash := range r.keys.hashes {
		f.Add(r.number, hash)
	}
	return f
}

// Users returns the entries by user in blocks, to be stored when the segment is sealed.
func (r *Recent) Users() []UserBlock {
	entries := make([]UserEntry, len(r.users.hashes))
	for i, user := range r.users.hashes {
		entries[i] = NewUserEntry(UserPart(user), r.ids[i])
	}
	return UserBlocks(entries)
}

// Blocks returns the entries by key in blocks, to be stored when the segment is sealed.
func (r *Recent) Blocks() []Block {
	order := make([]int, len(r.ids))
	for i := range order {
		order[i] = i
	}
	hashes := r.keys.hashes
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(uint64(hashes[a]), uint64(hashes[b])), bytes.Compare(r.ids[a][:], r.ids[b][:]))
	})
	blocks := IDBlocks{Segment: r.number}
	for _, i := range order {
		blocks.Add(hashes[i], r.ids[i])
	}
	return blocks.Blocks
}

// IDBlocks cuts the entries of a sealed segment into blocks. An entry has the first 6 bytes of the hash of a key, and
// the id of its reward. A block has 55 entries, and more when the next one has the same 4 bytes. So whoever looks for a
// key reads one block: the last one that does not begin with a later hash. Whoever changes that number adds a migration
// as 00036, since a segment must not have blocks of two sizes.
type IDBlocks struct {
	Segment int64
	Blocks  []Block
}

const (
	idsPerBlock = 55 // with the rows 1,610 bytes, so that a page of PostgreSQL has five blocks
	startBytes  = 4  // of the hash, in the place of a block
	partBytes   = 6  // of the hash, in an entry

	// IDEntryBytes is the length of an entry.
	IDEntryBytes = partBytes + idBytes
)

// KeyPart is what an entry has of a hash.
func KeyPart(hash int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(hash))[:partBytes] }

// Add adds the next entry, in the order of the hashes as numbers without a sign.
func (b *IDBlocks) Add(hash int64, id ID) {
	entry := append(KeyPart(hash), id[:]...)
	last := len(b.Blocks) - 1
	if last < 0 || b.Blocks[last].isBefore(entry[:startBytes]) {
		b.Blocks = append(b.Blocks, Block{Place: KeyPlace(b.Segment, hash)})
		last++
	}
	b.Blocks[last].Entries = append(b.Blocks[last].Entries, entry...)
}

// isBefore reports whether a block is full, and has no entry with the same 4 bytes of a hash.
func (b *Block) isBefore(start []byte) bool {
	n := len(b.Entries)
	return n >= idsPerBlock*IDEntryBytes && !bytes.HasPrefix(b.Entries[n-IDEntryBytes:], start)
}

// KeyPlace is the place of a block of a segment that begins with a hash.
func KeyPlace(segment, hash int64) int64 { return segment<<32 | int64(uint64(hash)>>32) }

// SoundIDs is Sound for the entries of IDBlocks. Those with equal parts of hashes may be in any order.
func (b *Block) SoundIDs() bool {
	if len(b.Entries) == 0 || len(b.Entries)%IDEntryBytes != 0 ||
		uint32(b.Place) != binary.BigEndian.Uint32(b.Entries) {
		return false
	}
	before := make([]byte, IDEntryBytes)
	for entry := range slices.Chunk(b.Entries, IDEntryBytes) {
		if bytes.Compare(entry[:partBytes], before[:partBytes]) < 0 || bytes.Equal(entry, before) ||
			ID(entry[partBytes:]).isTooLate() {
			return false
		}
		before = entry
	}
	return true
}

// isTooLate reports whether an id is from after the year 10,800, as one of 0xFF bytes.
func (id ID) isTooLate() bool { return id[0] == 0xFF }

// IDs lists the rewards whose key may have a hash. Another key may have the same 6 bytes: whoever reads a reward
// compares it.
func (b *Block) IDs(hash int64) (ids []ID) {
	for entry := range slices.Chunk(b.Entries, IDEntryBytes) {
		if len(entry) == IDEntryBytes && bytes.HasPrefix(entry, KeyPart(hash)) {
			ids = append(ids, ID(entry[partBytes:]))
		}
	}
	return ids
}
