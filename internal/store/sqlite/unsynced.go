package sqlite

import (
	"slices"
	"sync"

	"stockrewards/internal/rewards"
)

// change says who can see what a commit changed.
type change struct {
	commit int64           // its number
	apps   []rewards.AppID // none: all
}

// changes are those of commits that may not be on disk, one under way included. It is safe for concurrent use.
type changes struct {
	mu   sync.Mutex
	list []change
}

// add adds the next change. Commits up to synced are on disk.
func (c *changes) add(next change, synced int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(slices.DeleteFunc(c.list, func(old change) bool { return old.commit <= synced }), next)
}

// seenBy reports whether an app can see one of the changes after synced.
func (c *changes) seenBy(app rewards.AppID, synced int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.list, func(one change) bool {
		return one.commit > synced && (len(one.apps) == 0 || slices.Contains(one.apps, app))
	})
}
