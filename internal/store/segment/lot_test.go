package segment_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/store/segment"
)

// TestBlocksOfLots: lots are found by their users, also the lots of one user in several blocks, and keep the whole place.
func TestBlocksOfLots(t *testing.T) {
	t.Parallel()
	const most = 1<<48 - 1
	list := []segment.Lot{{User: 7, Place: 3}, {User: most, Place: most}, {User: 0, Place: 1 << 40}, {User: 7, Place: 1}}
	for i := range int64(1000) {
		list = append(list, segment.Lot{User: 9, Place: 1_000_000 - i})
	}
	lots := segment.NewLots(list)
	if lots.Len() != len(list) || len(lots) != 12*len(list) {
		t.Fatalf("%d lots in %d bytes", lots.Len(), len(lots))
	}
	var again segment.Lots
	found := make(map[int64][]int64)
	for _, b := range lots.Blocks() {
		if b.Len() > 64 {
			t.Errorf("a block of %d", b.Len())
		}
		again = append(again, b...)
		first := b.At(0).User
		wantSound(t, "lots", b, lots, 12, func(entries []byte) bool { return segment.Lots(entries).Sound(first) })
		if b.Sound(first + 1) {
			t.Error("a block is sound that begins with another user")
		}
		for _, user := range []int64{0, 1, 7, 8, 9, most} {
			found[user] = append(found[user], b.Places(user)...)
		}
	}
	want := map[int64][]int64{0: {1 << 40}, 1: nil, 7: {1, 3}, 8: nil, most: {most}}
	for i := range int64(1000) {
		want[9] = append(want[9], 999_001+i)
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(again, lots) {
		t.Error("the blocks are not the lots")
	}
	if diff := cmp.Diff(lots.All(), segment.NewLots(lots.All()).All()); diff != "" {
		t.Error(diff)
	}
	if got := segment.LotUser(math.MinInt64 + 5); got != 5 {
		t.Errorf("LotUser has %d, want 5", got)
	}
}

// TestLotsOfUnevenUsers: lots are found when most users are alike, too.
func TestLotsOfUnevenUsers(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, bits := range []int{3, 20, 40, 48} {
		for range 50 {
			want, list := make(map[int64][]int64), []segment.Lot(nil)
			for place := range int64(random.IntN(300)) {
				user := random.Int64N(1 << bits)
				list, want[user] = append(list, segment.Lot{User: user, Place: place}), append(want[user], place)
			}
			lots := segment.NewLots(list)
			for user := range want {
				for _, other := range []int64{user, max(0, user-1), min(1<<48-1, user+1), 0, 1<<48 - 1} {
					if got := lots.Places(other); !slices.Equal(got, want[other]) {
						t.Fatalf("%d bits, %d lots: user %d has %v, want %v", bits, lots.Len(), other, got, want[other])
					}
				}
			}
		}
	}
}
