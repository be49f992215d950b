package rewards

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

// Pass goes through pools once, in the order of the apps' turns. Begin one with Turns.Pass.
type Pass struct {
	turns *Turns
	pools []Pool
	seen  []bool     // the pools that Next returned
	now   []*appTurn // of the apps without an order in this round, in the order of their turns
	later []*appTurn // of the others
}

// appTurn is an app's pools that a pass has yet to return, longest waiting first.
type appTurn struct {
	app   AppID
	pools []int // as indices; others may have been returned for another app
}

// Pass begins to go through pools, which are sorted by how long they wait.
func (t *Turns) Pass(pools []Pool) *Pass {
	p := &Pass{turns: t, pools: pools, seen: make([]bool, len(pools))}
	place := make(map[AppID]*appTurn)
	for i, pool := range pools {
		for _, app := range pool.Apps {
			a := place[app]
			if a == nil {
				a = &appTurn{app: app}
				place[app] = a
				p.now = append(p.now, a)
			}
			a.pools = append(a.pools, i)
		}
	}
	return p
}

// Next returns the pool whose turn it is, or false after the last one. Apps without an order in this round come one
// after the other, each with its longest waiting pool, until Turns.Took says that it got an order. When no such app is
// left, the next round begins.
func (p *Pass) Next() (Pool, bool) {
	for {
		if len(p.now) == 0 {
			if len(p.later) == 0 {
				return Pool{}, false
			}
			clear(p.turns.had)
			p.now, p.later = p.later, nil
		}
		a := p.now[0]
		p.now = p.now[1:]
		for len(a.pools) > 0 && p.seen[a.pools[0]] {
			a.pools = a.pools[1:]
		}
		if len(a.pools) == 0 {
			continue
		}
		if _, had := p.turns.had[a.app]; had {
			p.later = append(p.later, a)
			continue
		}
		p.now = append(p.now, a)
		p.seen[a.pools[0]] = true
		return p.pools[a.pools[0]], true
	}
}
