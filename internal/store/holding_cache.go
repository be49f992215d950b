package store

import (
	"context"
	"sync"

	"stockrewards/internal/rewards"
)

// maxCachedHoldings is the memory of a holdingCache in bytes.
const maxCachedHoldings = 16 << 20

// holdingCache has users' holdings as the last commit left them. It is exact because:
//   - A reader enters first, then reads the database. It fills its entry only if that is still in
//     the cache.
//   - A transaction that changes holdings removes the entries of its users before its commit. It
//     keeps new entries out until the commit has succeeded.
//
// So the holdings of an entry do not change while it is in the cache, except that an operator's
// command in another process may change the units of a stock: rewards.Service then finds no price in
// the old units and forgets the entry. This needs an engine that is a SoleProcess. On another engine
// the cache is nil and its methods do nothing; over a network there is sharedHoldings. It is safe for concurrent use.
type holdingCache struct {
	mu       sync.Mutex
	entries  generations[userKey, *heldEntry]
	changing map[userKey]*holdingChange // users who are kept out
	closed   *holdingChange             // keeps everybody out; nil: nobody does
}

// heldEntry is a user's place in the cache. It never changes: filling replaces it.
type heldEntry struct {
	holdings []rewards.Holding
	filled   bool
}

func newHoldingCache(engine Engine) *holdingCache {
	if e, ok := engine.(SoleProcess); !ok || !e.Sole() {
		return nil
	}
	return &holdingCache{
		entries:  newGenerations[userKey](maxCachedHoldings, (*heldEntry).size),
		changing: make(map[userKey]*holdingChange),
	}
}

func (e *heldEntry) size() int { return sizeOfHoldings(e.holdings) }

// sizeOfHoldings is about the bytes that a user's entry in a cache takes.
func sizeOfHoldings(list []rewards.Holding) int {
	const entry, holding = 128, 32
	return entry + holding*len(list)
}

// enter returns the user's entry, empty if it is new. It returns nil while a transaction changes
// the user's holdings.
func (c *holdingCache) enter(k userKey) *heldEntry {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, found := c.entries.get(k)
	if !found && c.closed == nil && c.changing[k] == nil {
		e = &heldEntry{}
		c.entries.put(k, e)
	}
	return e
}

// fill replaces an entry that enter returned by one with the holdings, which were read after
// that. It does nothing if the entry is gone.
func (c *holdingCache) fill(k userKey, entered *heldEntry, holdings []rewards.Holding) {
	if entered == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, _ := c.entries.get(k); e == entered {
		c.entries.put(k, &heldEntry{holdings: holdings, filled: true})
	}
}

// forget removes the user's entry.
func (c *holdingCache) forget(k userKey) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.drop(k)
}

// holdingChange is a transaction that changes holdings. Each that does must use one.
type holdingChange struct {
	cache *holdingCache
	users []userKey
}

// begin removes the users from the cache and keeps them out. Call it before the commit, once in each
// run of the transaction.
func (h *holdingChange) begin(ctx context.Context, tx Tx, users []userKey) error {
	if _, columns := tx.(ColumnTx); columns && len(users) > 0 {
		return noteHoldingChange(ctx, tx, users)
	}
	if h.cache == nil {
		return nil
	}
	h.cache.mu.Lock()
	defer h.cache.mu.Unlock()
	for _, k := range users {
		h.cache.changing[k] = h
		h.cache.entries.drop(k)
	}
	h.users = append(h.users, users...)
	return nil
}

// beginAll is begin for all users.
func (h *holdingChange) beginAll(ctx context.Context, tx Tx) error {
	if _, columns := tx.(ColumnTx); columns {
		return noteHoldingChange(ctx, tx, nil)
	}
	if h.cache == nil {
		return nil
	}
	h.cache.mu.Lock()
	defer h.cache.mu.Unlock()
	h.cache.closed = h
	h.cache.entries.clear()
	return nil
}

// committed lets the users in again. Do not call it after a failed commit, whose outcome may be
// unknown: they stay out until a later change of their holdings is committed.
func (h *holdingChange) committed() {
	if h.cache == nil {
		return
	}
	h.cache.mu.Lock()
	defer h.cache.mu.Unlock()
	if h.cache.closed == h {
		h.cache.closed = nil
	}
	for _, k := range h.users {
		if h.cache.changing[k] == h {
			delete(h.cache.changing, k)
		}
	}
}
