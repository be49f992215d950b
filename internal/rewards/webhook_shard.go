package rewards

import (
	"cmp"
	"slices"
	"time"
)

// WebhookShards is the number of shards. A process of a fleet sends to the endpoints of its shards.
const WebhookShards = 64

// WebhookShard is the right to send to the endpoints of a shard. Its epoch grows with each holder.
type WebhookShard struct {
	Number int
	Lease
}

// Shard returns the number of the endpoint's shard.
func (e WebhookEndpoint) Shard() int { return int(e.ID[len(e.ID)-1]) % WebhookShards }

// ShareShards returns the shards that change when a process takes or renews its part at the time
// now. workers is the number of processes that share, this one included. With force set, no other
// process runs. A process keeps at most its part, gives back the rest, and takes free ones.
func ShareShards(all []WebhookShard, holder string, workers int, now time.Time, ttl time.Duration, force bool) (
	changed []WebhookShard,
) {
	most := (len(all) + workers - 1) / max(1, workers)
	mine := func(s WebhookShard) bool { return s.Holder == holder }
	ordered := slices.Clone(all)
	slices.SortFunc(ordered, func(a, b WebhookShard) int { // its own first: they stay where they are
		return cmp.Or(boolFirst(mine(a), mine(b)), cmp.Compare(a.Number, b.Number))
	})
	for _, s := range ordered {
		next, ok := s.Next(holder, now, ttl, force)
		switch {
		case most > 0 && ok:
			most--
			changed = append(changed, WebhookShard{s.Number, next})
		case mine(s) && s.Held(now):
			s.Until = now
			changed = append(changed, s)
		}
	}
	return changed
}

// boolFirst compares for an order in which true comes first.
func boolFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
