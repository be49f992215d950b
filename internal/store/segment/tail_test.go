package segment_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"stockrewards/internal/store/segment"
)

// TestTail compares a tail with slices, over its growth and with many equal hashes.
func TestTail(t *testing.T) {
	t.Parallel()
	const first, rewards = 1001, 1000
	random := rand.New(rand.NewPCG(1, 0))
	tail := segment.NewTail(first)
	var keys, users []entry
	for i := range rewards {
		if got, want := tail.Next(), int64(first+i); got != want || tail.First() != first {
			t.Fatalf("the next number is %d from %d, want %d from %d", got, tail.First(), want, first)
		}
		key, user := int64(random.Uint64()), random.Int64N(40)-20
		if i%10 == 0 && i > 0 {
			key = keys[random.IntN(i)].hash
		}
		keys = append(keys, entry{key, tail.Next()})
		users = append(users, entry{user, tail.Next()})
		tail.Add(key, user)
		below := first + random.Int64N(int64(i)+2)
		wantNumbers(t, "by key", tail.ByKey(nil, key), keys, key, first+rewards)
		wantNumbers(t, "by user", tail.ByUser(nil, user, below), users, user, below)
	}
	if got := tail.ByKey([]int64{7}, 12345); !slices.Equal(got, []int64{7}) {
		t.Errorf("an unknown key: got %v, want only what was there", got)
	}
	filter := tail.Filter(0)
	for _, k := range keys {
		if _, may := filter.Newest(segment.NewProbe(k.hash), 1); !may {
			t.Fatalf("the filter of the tail forgets %d", k.hash)
		}
	}
}

// entry is a reward and a hash that finds it.
type entry struct{ hash, number int64 }

// wantNumbers compares numbers with those of the entries that have a hash and are below a bound.
func wantNumbers(t *testing.T, what string, got []int64, entries []entry, hash, below int64) {
	t.Helper()
	var want []int64
	for _, e := range slices.Backward(entries) {
		if e.hash == hash && e.number < below {
			want = append(want, e.number)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%s %d below %d: got %v, want %v", what, hash, below, got, want)
	}
}
