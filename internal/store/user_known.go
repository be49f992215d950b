package store

import (
	"sync"

	"stockrewards/internal/rewards"
)

// maxKnownUsers is how many users a knownUsers remembers, in about 3 MB.
const maxKnownUsers = 50_000

// knownUsers remembers users who exist, so that an award need not look them up. A user is never
// deleted, so an entry becomes wrong only when a server that took over lacks the user. Only committed users may enter.
// It is safe for concurrent use.
type knownUsers struct {
	mu    sync.Mutex
	users generations[userKey, struct{}]
}

func newKnownUsers() *knownUsers {
	return &knownUsers{users: newGenerations[userKey](maxKnownUsers, func(struct{}) int { return 1 })}
}

// has reports whether the user is known to exist.
func (u *knownUsers) has(k userKey) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, known := u.users.get(k)
	return known
}

// add notes users who were read in a snapshot, or whose transaction is committed.
func (u *knownUsers) add(k userKey) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, known := u.users.get(k); !known {
		u.users.put(k, struct{}{})
	}
}

// forget removes the users of some requests.
func (u *knownUsers) forget(requests []rewards.NewReward) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range requests {
		u.users.drop(userKey{requests[i].AppID, requests[i].UserID})
	}
}
