package segment_test

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"stockrewards/internal/store/segment"
)

// The newest rewards of a user before an id are found in memory, also when ids come late, and then block by block.
func TestUsersAndTheirBlocks(t *testing.T) {
	t.Parallel()
	const rewards, late, step = 3_000, 50, 7
	recent, random := segment.NewRecent(3), rand.New(rand.NewPCG(5, 6))
	of := make(map[segment.UserPart][]segment.ID)
	for i := range rewards {
		var id segment.ID
		binary.BigEndian.PutUint64(id[:], uint64(1<<40+i*step-random.IntN(late)*step)<<16)
		binary.BigEndian.PutUint64(id[8:], uint64(i))
		user := segment.NewUserPart(int64(random.Uint64()))
		if i%3 > 0 { // two with many rewards, of which one is the first of all
			user = segment.UserPart(i % 3 * 9)
		}
		recent.Add(int64(i), id)
		recent.AddUser(user)
		of[user] = append(of[user], id)
	}
	blocks := recent.Users()
	for i := range blocks[1:] {
		if slices.Compare(blocks[i].First(), blocks[i+1].First()) >= 0 {
			t.Fatalf("block %d begins after the next one", i)
		}
	}
	inBlocks := func(to *segment.Newest, user segment.UserPart, before segment.ID) {
		bound := segment.NewUserEntry(user, before)
		part, many := user.Append(nil), 0
		for _, b := range slices.Backward(blocks) {
			switch {
			case slices.Compare(b.First(), part) < 0: // the first one
				b.OfUser(to, user, before, nil)
				return
			case slices.Compare(b.First(), bound[:]) < 0 && many < segment.BlocksFor(to.Most()):
				b.OfUser(to, user, before, nil)
				many++
			}
		}
	}
	for user, ids := range of {
		slices.SortFunc(ids, func(a, b segment.ID) int { return b.Compare(a) })
		for _, most := range []int{1, 5, 100, len(ids), len(ids) + 1} {
			for from := 0; from < len(ids); from += max(1, len(ids)/5) {
				want := ids[from+1 : min(len(ids), from+1+most)]
				memory, stored := segment.NewNewest(most), segment.NewNewest(most)
				recent.OfUser(memory, user, ids[from])
				inBlocks(stored, user, ids[from])
				if !slices.Equal(memory.List(), want) || !slices.Equal(stored.List(), want) {
					t.Fatalf("the user %x has %d rewards before %x; in memory %x, in blocks %x", user, len(want), ids[from],
						memory.List(), stored.List())
				}
			}
		}
	}
	nobody := segment.NewNewest(9)
	recent.OfUser(nobody, 1, segment.ID{0xff})
	inBlocks(nobody, 1, segment.ID{0xff})
	if len(nobody.List()) > 0 {
		t.Errorf("a user without rewards has %x", nobody.List())
	}
}

// The part of a user has the last 4 bytes of the id first, which the index of an earlier version has.
func TestPartOfAUser(t *testing.T) {
	t.Parallel()
	user := segment.NewUserPart(0x0102030405060708)
	if got, want := user.Append(nil), []byte{5, 6, 7, 8, 3, 4}; !slices.Equal(got, want) || segment.ParseUserPart(got) != user {
		t.Errorf("the part is %x, want %x", got, want)
	}
}
