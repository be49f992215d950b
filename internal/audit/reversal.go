package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// The stored states of a reversal.
const (
	reversalPending = iota + 1
	reversalCompleted
	reversalOrdered // by an operator, of an executed award
)

// reversal is a row of reversals with its award. The status is 0 when the award does not exist.
type reversal struct {
	app, user, reward, id          string
	amount, state, quantity, after int64
	completedAt                    int64
	of, status                     int64 // the award's amount and status
	ofUser, failure                string
	key, reason, fingerprint       string

	takings []taking // found
}

func (r *reversal) name() string {
	return "reversal " + value.UUID(r.id) + " of app " + value.UUID(r.app)
}

func (r *reversal) describe() string {
	return fmt.Sprintf("state %d, %s of %s, completed at %s after switch %d with %s, the award's status %d",
		r.state, value.USD(r.amount), value.USD(r.of), value.Time(r.completedAt), r.after, value.Shares(r.quantity),
		r.status)
}

// took reports whether the reversal took shares, which the award had.
func (r *reversal) took() bool { return r.state == reversalCompleted && r.status == executed }

func reversalStream() reader.Stream[reversal] {
	return reader.Stream[reversal]{
		What: "reversals",
		Query: `SELECT v.app_id, v.user_id, v.reward_id, v.id, v.amount, v.state, v.quantity, v.after_switch,
			v.completed_at, coalesce(r.amount, 0), coalesce(r.status, 0), coalesce(r.user_id, v.user_id),
			coalesce(r.failure_reason, ''), v.idempotency_key, v.reason, v.fingerprint
			FROM reversals v LEFT JOIN rewards r ON r.app_id = v.app_id AND r.id = v.reward_id`,
		Sort: true,
		Bind: func(r *reversal) []any {
			return []any{
				&r.app, &r.user, &r.reward, &r.id, &r.amount, &r.state, &r.quantity, &r.after, &r.completedAt,
				&r.of, &r.status, &r.ofUser, &r.failure, &r.key, &r.reason, &r.fingerprint,
			}
		},
		Key: func(r *reversal) reader.Key { return reader.Key{r.app, r.user} },
	}
}

// taking is a row of takings with its reversal. The user is "" when the reversal does not exist.
type taking struct {
	app, user, reversal    string
	asset, quantity, basis int64
	after, completedAt     int64
}

func (t *taking) name() string {
	return "taking of " + value.Asset(t.asset) + " by the reversal " + value.UUID(t.reversal)
}

func takingStream() reader.Stream[taking] {
	return reader.Stream[taking]{
		What: "takings",
		Query: `SELECT t.app_id, coalesce(v.user_id, t.reversal_id), t.reversal_id, t.asset_id, t.quantity, t.basis,
			coalesce(v.after_switch, 0), coalesce(v.completed_at, 0)
			FROM takings t LEFT JOIN reversals v ON v.app_id = t.app_id AND v.id = t.reversal_id`,
		Sort: true,
		Bind: func(t *taking) []any {
			return []any{&t.app, &t.user, &t.reversal, &t.asset, &t.quantity, &t.basis, &t.after, &t.completedAt}
		},
		Key: func(t *taking) reader.Key { return reader.Key{t.app, t.user} },
	}
}

// claimReversals collects what was taken back of a user's awards.
func (j *userJoin) claimReversals(k reader.Key) error {
	err := j.reversals.Claim(k, func(r *reversal) {
		j.a.t.row(checkTenancy)
		j.backs = append(j.backs, *r)
	}, j.strayReversal)
	if err != nil {
		return err
	}
	j.reversalRules()
	return j.takings.Claim(k, func(t *taking) {
		j.a.t.row(checkTenancy)
		j.a.position(t.asset).taken.Add(t.quantity)
		j.a.checkAsset(t.asset, t)
		entryOf(j.due, t.asset)
		j.taken = append(j.taken, *t)
		for i := range j.backs {
			if j.backs[i].id == t.reversal {
				j.backs[i].takings = append(j.backs[i].takings, *t)
				break
			}
		}
	}, j.strayTaking)
}

func (j *userJoin) strayReversal(r *reversal) { j.a.notInApp(r.name(), r.app, "user", r.user) }

func (j *userJoin) strayTaking(t *taking) {
	j.a.position(t.asset).taken.Add(t.quantity)
	j.a.notInApp(t.name(), t.app, "user or reversal", t.user)
}

// reversalRules checks each reversal of a user, and all of an award together.
func (j *userJoin) reversalRules() {
	var sum value.Sum
	for i := range j.backs {
		r := &j.backs[i]
		first := i == 0 || j.backs[i-1].reward != r.reward
		j.a.checkID(r.id, !first && j.backs[i-1].id == r.id, r)
		j.a.t.row(checkReversals)
		if found, expected := j.a.reversalRule(r); expected != "" {
			j.a.t.fail(checkReversals, r.name(), found, expected)
		}
		if first {
			sum = value.Sum{}
		}
		sum.Add(r.amount)
		if i+1 < len(j.backs) && j.backs[i+1].reward == r.reward {
			continue
		}
		canceled := r.status == failed && strings.HasPrefix(r.failure, "canceled:")
		if value.SumOf(r.of).Less(sum) || canceled && !sum.Is(r.of) {
			j.a.t.fail(checkReversals, "reversals of "+rewardName(r.app, r.reward), sum.USD(),
				"at most "+value.USD(r.of)+", and all of it when the award was canceled")
		}
	}
}

func (a *auditor) reversalRule(r *reversal) (found, expected string) {
	completed := r.state == reversalCompleted
	return judge(
		r.describe,
		must{r.status != 0 && r.ofUser == r.user, "an award of the user"},
		must{r.amount > 0 && r.key != "", "an amount of more than $0, and a key"},
		must{r.state >= reversalPending && r.state <= reversalOrdered, "a state from 1 to 3"},
		must{completed == (r.completedAt != 0), "a time of completion exactly when completed"},
		must{!completed || r.completedAt >= value.Created(r.id), "completed after it was recorded"},
		must{r.state != reversalPending || r.status < executed, "an award that is not final while pending"},
		must{r.state != reversalOrdered || r.status == executed, "an executed award when an operator ordered it"},
		must{!completed || r.status >= executed, "a final award when completed"},
		must{r.took() || r.quantity == 0 && r.after == 0, "no shares unless completed with an executed award"},
		must{r.quantity >= 0 && r.after >= 0 && r.after <= int64(len(a.switches)), "after a switch that exists"},
		must{r.requestedAs(r.amount) || r.requestedAs(0), "the fingerprint of the request"},
	)
}

// requestedAs reports whether the fingerprint is that of a request of an amount, 0 for all that is left.
func (r *reversal) requestedAs(amount int64) bool {
	const version, room = 2, 256
	b := append(append(make([]byte, 0, room), r.app...), r.reward...)
	b = binary.BigEndian.AppendUint64(b, uint64(amount))
	sum := sha256.Sum256(appendString(appendString(b, r.key), r.reason))
	return r.fingerprint == string(append([]byte{version}, sum[:]...))
}

// reversalKeys checks that an app uses a key for one reversal.
func (a *auditor) reversalKeys() error {
	type keyed struct{ app, key, id string }
	var last keyed
	return reader.Each(a.r, reader.Stream[keyed]{
		What: "reversals by key", Query: `SELECT app_id, idempotency_key, id FROM reversals`, Sort: true,
		Bind: func(r *keyed) []any { return []any{&r.app, &r.key, &r.id} },
	}, func(r *keyed) {
		a.t.row(checkReversals)
		if r.app == last.app && r.key == last.key {
			a.t.fail(checkReversals, "reversal "+value.UUID(r.id), "the key of "+value.UUID(last.id), "another key")
		}
		last = *r
	})
}
