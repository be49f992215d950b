package postgres_test

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/storetest"
)

const (
	lot      = 5_000_000       // billionths of a share
	lotPrice = 200_000_000_000 // billionths of a dollar for a share
)

// follower is a process that books what users buy, and another one that reads what they have.
type follower struct {
	*storetest.World
	reader *store.Store
	change func(query string, args ...any)
}

func newFollower(t *testing.T) follower {
	t.Helper()
	url := database(t, cluster(t))
	w := storetest.NewWorld(t, open(t, url, postgres.Options{}))
	reader, err := store.New(t.Context(), open(t, url, postgres.Options{}), time.Now, rand.Reader)
	check(t, err)
	conn := connect(t, url)
	return follower{w, reader, func(query string, args ...any) {
		t.Helper()
		_, err := conn.Exec(t.Context(), query, args...)
		check(t, err)
	}}
}

// buy buys a lot for the first user.
func (w follower) buy(t *testing.T) rewards.Reward {
	t.Helper()
	r := w.Give(t, money.Dollar)
	check(t, w.Settle(t, w.Open(t), "filled", lot, lotPrice))
	return r
}

// quantity is what the reader says that the first user has.
func (w follower) quantity(t *testing.T) (quantity money.Shares) {
	t.Helper()
	list, err := w.reader.Holdings(t.Context(), w.App.ID, w.Users[0].ID)
	if err != nil {
		t.Error(err)
	}
	for _, h := range list {
		quantity += h.Quantity
	}
	return quantity
}

func (w follower) want(t *testing.T, when string, want money.Shares) {
	t.Helper()
	if got := w.quantity(t); got != want {
		t.Errorf("%s: %d, want %d", when, got, want)
	}
}

// A process keeps holdings in memory until another one changes them: it notes their users in its transaction.
func TestHoldingsInMemoryFollowOtherProcesses(t *testing.T) {
	t.Parallel()
	w := newFollower(t)
	secretly := func(quantity money.Shares) {
		t.Helper()
		w.change(`UPDATE holdings SET quantity = $1`, int64(quantity))
	}
	note := func(users ...rewards.User) {
		t.Helper()
		hashes := []byte{} // everybody
		for _, u := range users {
			hashes = append(hashes, u.ID[8:]...)
		}
		w.change(`UPDATE holding_changes SET number = number + 256, mark = 7, users = $1
			WHERE number = (SELECT min(number) FROM holding_changes)`, hashes)
	}
	w.change(`UPDATE holding_changes SET number = number + 10000`)
	w.buy(t)
	w.want(t, "bought", lot)
	secretly(1)
	w.want(t, "in memory", lot)
	note(w.Users[1])
	w.want(t, "another user's change", lot)
	w.buy(t)
	w.want(t, "the user's change", lot+1)
	secretly(2)
	note()
	w.want(t, "a change of everybody's holdings", 2)
	secretly(3)
	note(w.Users[1])
	note(w.Users[0])
	note(w.Users[2])
	w.want(t, "one of several changes", 3)
	secretly(4)
	for range 70 {
		note(w.Users[1])
	}
	w.want(t, "more changes than are read", 4)
	secretly(5)
	w.want(t, "in memory again", 4)
	w.change(`UPDATE holding_changes SET mark = 8`)
	w.want(t, "another database", 5)
	secretly(6)
	w.change(`UPDATE holding_changes SET number = number - 5000`)
	w.want(t, "an older database", 6)
	secretly(7)
	w.want(t, "in memory of the older database", 6)
	w.buy(t)
	w.want(t, "bought there", lot+7)
}

// Every kind of transaction that changes holdings is seen by another process.
func TestEveryChangeOfHoldingsIsFollowed(t *testing.T) {
	t.Parallel()
	w := newFollower(t)
	w.want(t, "nothing", 0)
	bought := w.buy(t)
	w.want(t, "bought", lot)
	w.SplitInTwo(t, "double")
	w.want(t, "split", 2*lot)
	w.SweepAll(t)
	w.want(t, "swept", 2*lot)
	_, err := w.UndoAction(t.Context(), "double")
	check(t, err)
	w.want(t, "undone", lot)
	w.SweepAll(t)
	w.want(t, "swept again", lot)
	outcomes, err := w.ReverseRewards(t.Context(), []rewards.NewReversal{{
		AppID: w.App.ID, RewardID: bought.ID, IdempotencyKey: "back-to-nothing",
	}})
	check(t, err)
	check(t, outcomes[0].Refused)
	w.want(t, "taken back", 0)
}

// A transaction notes any number of users.
func TestManyHoldersOfOneTransaction(t *testing.T) {
	t.Parallel()
	w := newFollower(t)
	const many = 450 // of 200 in a row
	for i := range many {
		u := w.NewUser(t, w.App.ID, "many-"+strings.Repeat("i", i))
		r := w.Request(t, money.Dollar)
		r.UserID = u.ID
		r.Fingerprint = rewards.NewFingerprint(r, "")
		_, err := w.RecordRewards(t.Context(), []rewards.NewReward{r})
		check(t, err)
		w.Users = append(w.Users, u)
	}
	total := func() (sum money.Shares) {
		for _, u := range w.Users[len(w.Users)-many:] {
			list, err := w.reader.Holdings(t.Context(), w.App.ID, u.ID)
			check(t, err)
			for _, h := range list {
				sum += h.Quantity
			}
		}
		return sum
	}
	if got := total(); got != 0 {
		t.Errorf("%d shares before", got)
	}
	check(t, w.Settle(t, w.Open(t), "filled", many*lot, lotPrice))
	if got := total(); got != many*lot {
		t.Errorf("the other process has %d shares, want %d", got, many*lot)
	}
}

// A transaction that cannot note its users changes nothing.
func TestAChangeThatCannotBeNoted(t *testing.T) {
	t.Parallel()
	w := newFollower(t)
	w.Give(t, money.Dollar)
	o := w.Open(t)
	w.change(`DELETE FROM holding_changes WHERE number = (SELECT min(number) FROM holding_changes)`)
	if err := w.Settle(t, o, "filled", lot, lotPrice); err == nil {
		t.Error("the order was booked")
	}
	w.want(t, "not booked", 0)
}

// Whoever reads after a settlement of another process sees it, however many read and settle at once.
func TestReadsAfterASettlementOfAnotherProcess(t *testing.T) {
	t.Parallel()
	w := newFollower(t)
	lots := func() money.Shares { return w.quantity(t) / lot }
	storetest.TestReadsAfterSettlements(t, lots, func() { w.buy(t) })
}
