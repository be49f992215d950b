package segment_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/store/segment"
)

// TestTail compares a tail with slices, over its growth and with many equal hashes.
func TestTail(t *testing.T) {
	t.Parallel()
	const first, rewards = 1001, 1000
	random := rand.New(rand.NewPCG(1, 0))
	tail := segment.NewTail(first)
	var keys, users []segment.Entry
	for i := range rewards {
		if got, want := tail.Next(), int64(first+i); got != want || tail.First() != first {
			t.Fatalf("the next number is %d from %d, want %d from %d", got, tail.First(), want, first)
		}
		key, user := int64(random.Uint64()), random.Int64N(40)-20
		if i%10 == 0 && i > 0 {
			key = keys[random.IntN(i)].Hash
		}
		keys = append(keys, segment.Entry{Hash: key, Number: tail.Next()})
		users = append(users, segment.Entry{Hash: user, Number: tail.Next()})
		tail.Add(key, user)
		below := first + random.Int64N(int64(i)+2)
		wantNumbers(t, "by key", tail.ByKey(nil, key), keys, key, first+rewards)
		wantNumbers(t, "by user", tail.ByUser(nil, user, below), users, user, below)
	}
	if got := tail.ByKey([]int64{7}, 12345); !slices.Equal(got, []int64{7}) {
		t.Errorf("an unknown key: got %v, want only what was there", got)
	}
	for what, sorted := range map[string]segment.Entries{"keys": tail.Keys(), "users": tail.Users()} {
		var got []segment.Entry
		for i := range sorted.Len() {
			got = append(got, sorted.At(i))
		}
		want := map[string][]segment.Entry{"keys": keys, "users": users}[what]
		slices.SortStableFunc(want, func(a, b segment.Entry) int {
			switch { // numbers are in order
			case a.Hash < b.Hash:
				return -1
			case a.Hash > b.Hash:
				return 1
			}
			return 0
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the sorted %s (-want +got):\n%s", what, diff)
		}
	}
}

// wantNumbers compares numbers with those of the entries that have a hash and are below a bound.
func wantNumbers(t *testing.T, what string, got []int64, entries []segment.Entry, hash, below int64) {
	t.Helper()
	var want []int64
	for _, e := range slices.Backward(entries) {
		if e.Hash == hash && e.Number < below {
			want = append(want, e.Number)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%s %d below %d: got %v, want %v", what, hash, below, got, want)
	}
}
