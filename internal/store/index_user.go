package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"stockrewards/internal/rewards"
)

// userPage reads a page of a user's rewards by the index in segments.
type userPage struct {
	index  *rewardIndex
	app    rewards.AppID
	user   rewards.UserID
	status rewards.Status // 0 does not filter
	tail   []int64        // the user's rewards in memory, newest first
	first  int64          // the oldest reward that memory covers
	next   int64          // the number after the newest one that memory covers
	rows   bool           // the entries of some sealed segments are rows
}

// newUserPage takes what memory has. Its transaction must begin later: what is not in memory by
// now is committed.
func (x *rewardIndex) newUserPage(app rewards.AppID, user rewards.UserID, status rewards.Status) *userPage {
	x.mu.RLock()
	defer x.mu.RUnlock()
	p := &userPage{index: x, app: app, user: user, status: status, first: x.sealed()*x.size + 1, next: x.next()}
	p.rows = x.rows
	for _, tail := range slices.Backward(x.tails) {
		p.tail = tail.ByUser(p.tail, userHash(user), p.next)
	}
	return p
}

// read returns the rewards before an id, newest first.
func (p *userPage) read(ctx context.Context, tx Tx, page rewards.Page[rewards.Reward]) ([]rewards.Reward, error) {
	below, err := p.numberBelow(ctx, tx, page.Before)
	if err != nil {
		return nil, err
	}
	list := make([]rewards.Reward, 0, page.Limit)
	for more := true; more && len(list) < page.Limit && below > 1; {
		want := page.Limit - len(list)
		numbers, err := p.numbers(ctx, tx, below, want)
		if err != nil || len(numbers) == 0 {
			return list, err
		}
		if list, below, err = p.collect(ctx, tx, list, numbers); err != nil {
			return nil, err
		}
		more = len(numbers) == want
	}
	return list, nil
}

// collect adds the rewards of those numbers that belong to the list. After one that does not it
// skips to the app's next reward in the status. It returns the bound of the numbers to go on with.
func (p *userPage) collect(ctx context.Context, tx Tx, list []rewards.Reward, numbers []int64) (
	_ []rewards.Reward, below int64, err error,
) {
	if p.status == 0 { // a reward of another user with the same hash is missing
		err = fetchEach(ctx, tx, scanRewards(), func(r rewards.Reward) error {
			list = append(list, r)
			return nil
		}, `SELECT `+listColumns+numbered, p.app[:], p.user[:], jsonList(numbers))
		return list, numbers[len(numbers)-1], err
	}
	rows, err := fetchAll(ctx, tx, scanNumbered, `SELECT rowid, `+listColumns+numbered,
		p.app[:], p.user[:], jsonList(numbers))
	if err != nil {
		return nil, 0, err
	}
	below = math.MaxInt64
	for _, r := range rows {
		switch {
		case r.number >= below: // skipped
		case r.Status == p.status:
			list = append(list, r.Reward)
		default:
			if below, err = p.skip(ctx, tx, r.ID); err != nil {
				return nil, 0, err
			}
		}
	}
	below = min(below, numbers[len(numbers)-1])
	return list, below, nil
}

// numbered finds the user's rewards with those numbers, newest first.
const numbered = ` FROM rewards WHERE rowid IN (SELECT value FROM json_each(?3))
		AND +app_id = ?1 AND +user_id = ?2 ORDER BY rowid DESC`

// numberedReward is a reward with its number.
type numberedReward struct {
	number int64
	rewards.Reward
}

func scanNumbered(row Row) (r numberedReward, err error) {
	r.Reward, err = scanReward(prefixed{row, []any{&r.number}})
	return r, err
}

// jsonList is a list of numbers for json_each.
func jsonList(numbers []int64) string {
	text := []byte{'['}
	for i, number := range numbers {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, number, 10)
	}
	return string(append(text, ']'))
}

// numbers returns at most limit of the user's rewards below a number, newest first.
func (p *userPage) numbers(ctx context.Context, tx Tx, below int64, limit int) (numbers []int64, err error) {
	if below > p.next { // recorded since, by any process
		numbers, err = fetchAll(ctx, tx, scanNumber, `SELECT rowid FROM rewards WHERE rowid >= ?1 AND rowid < ?2
			AND +app_id = ?3 AND +user_id = ?4 ORDER BY rowid DESC LIMIT ?5 + 0`,
			p.next, below, p.app[:], p.user[:], limit)
		if err != nil {
			return nil, err
		}
	}
	from, _ := slices.BinarySearchFunc(p.tail, below, func(number, below int64) int {
		return cmp.Compare(below, number+1)
	})
	numbers = append(numbers, p.tail[from:min(from+limit-len(numbers), len(p.tail))]...)
	if len(numbers) == limit || p.first == 1 {
		return numbers, nil
	}
	sealed, err := p.inSealed(ctx, tx, min(p.segmentOf(p.first), p.segmentOf(below)+1), below, limit-len(numbers))
	return append(numbers, sealed...), err
}

func (p *userPage) segmentOf(number int64) int64 { return (number - 1) / p.index.size }

// numberBelow is the bound of the numbers of an app's rewards before an id. The zero id does not
// bound them.
func (p *userPage) numberBelow(ctx context.Context, tx Tx, id rewards.RewardID) (int64, error) {
	if id.IsZero() {
		return math.MaxInt64, nil
	}
	return p.bound(ctx, tx, `SELECT rowid FROM rewards WHERE app_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT 1`,
		p.app[:], id[:])
}

// skip is the bound of the numbers of an app's rewards in the status before an id.
func (p *userPage) skip(ctx context.Context, tx Tx, id rewards.RewardID) (int64, error) {
	if p.status == rewards.Executed { // +id: SQLite would walk down from the first bound, over all that waits
		return p.bound(ctx, tx, `SELECT rowid FROM rewards WHERE app_id = ?1 AND +id < ?2
			AND id <= (`+executedTo(`?2`)+`) ORDER BY id DESC LIMIT 1`, p.app[:], id[:])
	}
	return p.bound(ctx, tx, `SELECT r.rowid FROM (`+openOf(`id < ?2 AND status = ?3`, `1`)+`) CROSS JOIN rewards r
		WHERE r.app_id = ?1 AND r.id = of_id`, p.app[:], id[:], int(p.status))
}

// bound is the number after the one that a query finds. Without one it is 1, and nothing is below.
func (p *userPage) bound(ctx context.Context, tx Tx, query string, args ...any) (int64, error) {
	var number int64
	_, err := fetchValues(ctx, tx, []any{&number}, query, args...)
	return number + 1, err
}
