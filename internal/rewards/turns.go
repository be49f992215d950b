package rewards

import "iter"

// Turns shares the orders among the apps in rounds: in a round each app with rewards that can be ordered gets one
// order. An order for several apps is the turn of each. So an app waits for at most one order of each other app before
// its own, whatever number of stocks they want. The zero value begins a round.
type Turns struct {
	had map[AppID]struct{} // an order in this round
}

// Took notes that an order was planned for the rewards of apps.
func (t *Turns) Took(apps ...AppID) {
	if t.had == nil {
		t.had = make(map[AppID]struct{})
	}
	for _, app := range apps {
		t.had[app] = struct{}{}
	}
}

// Pass goes once through pools, which are sorted by how long they wait. Apps without an order in this round come one
// after the other, each with its longest waiting pool, until Turns.Took says that it got an order. When no such app is
// left, the next round begins.
func (t *Turns) Pass(pools []Pool) iter.Seq[Pool] {
	return func(yield func(Pool) bool) {
		seen := make([]bool, len(pools))
		now, later := appTurns(pools), []*appTurn(nil) // those without an order in this round, and the others
		for len(now)+len(later) > 0 {
			if len(now) == 0 {
				clear(t.had)
				now, later = later, nil
			}
			a := now[0]
			now = now[1:]
			for len(a.pools) > 0 && seen[a.pools[0]] {
				a.pools = a.pools[1:]
			}
			if len(a.pools) == 0 {
				continue
			}
			if _, had := t.had[a.app]; had {
				later = append(later, a)
				continue
			}
			now = append(now, a)
			seen[a.pools[0]] = true
			if !yield(pools[a.pools[0]]) {
				return
			}
		}
	}
}

// appTurn is an app's pools that a pass has yet to reach, longest waiting first.
type appTurn struct {
	app   AppID
	pools []int // as indices; others may have been reached for another app
}

// appTurns lists the apps of pools in the order of their longest waiting ones.
func appTurns(pools []Pool) (list []*appTurn) {
	place := make(map[AppID]*appTurn)
	for i, pool := range pools {
		for _, app := range pool.Apps {
			a := place[app]
			if a == nil {
				a = &appTurn{app: app}
				place[app] = a
				list = append(list, a)
			}
			a.pools = append(a.pools, i)
		}
	}
	return list
}
