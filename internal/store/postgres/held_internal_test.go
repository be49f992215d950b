package postgres

import (
	"slices"
	"testing"
	"time"
)

// Of several that need the same transaction, the owner is named, or else the one that was seen first. Its time goes on
// while others come and go.
func TestTheCauseKeepsItsTime(t *testing.T) {
	t.Parallel()
	var h held
	began := time.Now()
	reader := func(name string, age time.Duration) holder {
		return holder{holding: holding{"process", name, "700"}, age: age}
	}
	owner := reader("3", -1)
	owner.owns = true
	later := holder{holding: holding{"slot", "feed", "701"}, age: -1}
	for i, step := range []struct {
		list []holder
		want string
		age  time.Duration
	}{
		{[]holder{reader("1", -1)}, "1", 0},
		{[]holder{reader("1", -1), later}, "1", 1},
		{[]holder{reader("2", -1), reader("1", -1)}, "1", 2},
		{[]holder{reader("4", 0), reader("2", -1), reader("1", -1)}, "1", 3},
		{[]holder{owner, reader("4", 1), reader("1", -1), later}, "3", 0},
		{[]holder{owner, reader("4", time.Hour), later}, "3", 1},
		{[]holder{reader("1", -1), later}, "1", 0}, // it was gone
		{[]holder{later}, "feed", 3},
	} {
		list := slices.Clone(step.list)
		h.addAges(list, began.Add(time.Duration(i)))
		if by := cause(list); by.name != step.want || by.age != step.age {
			t.Errorf("step %d: %s since %d, want %s since %d", i, by.name, by.age, step.want, step.age)
		}
		if len(h.first) != len(list) {
			t.Errorf("step %d: %d are remembered, want %d", i, len(h.first), len(list))
		}
	}
}
