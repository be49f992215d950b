package store_test

import (
	"testing"

	"pgregory.net/rapid"

	"stockrewards/internal/store"
)

// The cache returns what was put last, never more than its limit weighs.
func TestGenerationsAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const limit, keys, heaviest = 40, 30, 5
		c, model := store.NewGenerations(limit), make(map[int]int)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			key := rapid.IntRange(0, keys).Draw(t, "key")
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				model[key] = rapid.IntRange(1, heaviest).Draw(t, "value")
				c.Put(key, model[key])
				if _, found := c.Get(key); !found {
					t.Fatalf("key %d is missing after Put", key)
				}
			case 1:
				delete(model, key)
				c.Drop(key)
			default:
				if value, found := c.Get(key); found && value != model[key] {
					t.Fatalf("key %d has %d, want %d", key, value, model[key])
				}
			}
			if got := c.Weight(); got > limit {
				t.Fatalf("the entries weigh %d, limit %d", got, limit)
			}
		}
	})
}

// An entry in use outlives any number of new ones.
func TestGenerationsKeepWhatIsUsed(t *testing.T) {
	t.Parallel()
	const limit, others = 10, 1000
	c := store.NewGenerations(limit)
	c.Put(0, 1)
	for key := 1; key < others; key++ {
		c.Put(key, 1)
		if _, found := c.Get(0); !found {
			t.Fatalf("the entry in use is gone after %d others", key)
		}
	}
	if _, found := c.Get(1); found {
		t.Error("an unused entry stayed")
	}
}
