package growth

import (
	"fmt"
	"strings"
	"time"

	"stockrewards/internal/rewards"
)

// table is a table with its columns, in the order of its rows.
type table struct {
	name    string
	columns []string
}

// The tables, each after those that it refers to.
const (
	users = iota
	awards
	orders
	members
	allocations
	holdings
	spending
	tableCount
)

// batch is rows to write together, by table.
type batch [tableCount][][]any

func (b *batch) add(table int, row ...any) { b[table] = append(b[table], row) }

func columns(list string) []string { return strings.Fields(list) }

// tables are the tables that are bulk loaded; the methods of batch make their rows.
func tables() []table {
	return []table{
		users: {"users", columns(`app_id id email email_folded external_id seal`)},
		awards: {"rewards", columns(`app_id id user_id idempotency_key fingerprint amount asset_id symbol source
			metadata status waiting booked executed_at failure_reason`)},
		orders: {"orders", columns(`id client_order_id asset_id symbol notional house members_hash state attempts
			first_attempt_at next_attempt_at deadline broker_id broker_status filled_qty filled_avg_price filled_at
			terminal_since reason house_shares settled_at refused_sessions refused_until`)},
		members:     {"order_rewards", columns(`order_id position app_id reward_id amount`)},
		allocations: {"allocations", columns(`app_id reward_id order_id amount shares`)},
		holdings:    {"holdings", columns(`app_id user_id asset_id quantity cost_basis`)},
		spending:    {"spending", columns(`day notional house`)},
	}
}

// sumPositions fills the table of the shares that were booked of each asset.
const sumPositions = `INSERT INTO positions (asset_id, booked) SELECT asset_id, sum(filled_qty) FROM orders
	WHERE state = 6 AND filled_qty > 0 GROUP BY asset_id`

// markUsed returns a statement that marks the assets that rewards are for.
func markUsed(stocks []stock) string {
	ids := make([]string, len(stocks))
	for i, a := range stocks {
		ids[i] = fmt.Sprint(a.ID)
	}
	return `UPDATE assets SET used = 1 WHERE id IN (` + strings.Join(ids, ", ") + `)`
}

func (b *batch) user(u *rewards.User) {
	seal := u.Seal()
	b.add(users, u.AppID[:], u.ID[:], u.Email, rewards.FoldEmail(u.Email), u.ExternalID, seal[:])
}

func (b *batch) reward(r *award) {
	waiting := int64(0)
	if r.Status == rewards.Recorded {
		waiting = 1
	}
	b.add(awards, r.AppID[:], r.ID[:], r.UserID[:], r.IdempotencyKey, r.fingerprint[:], int64(r.Amount),
		int64(r.AssetID), r.Symbol, r.Source, r.Metadata, int64(r.Status), waiting, int64(r.Booked),
		micros(r.ExecutedAt), r.FailureReason)
}

func (b *batch) order(o *rewards.Order) {
	b.add(orders, o.ID[:], o.ClientOrderID, int64(o.AssetID), o.Symbol, int64(o.Notional), int64(o.House),
		o.MembersHash[:], int64(o.State), int64(o.Attempts), micros(o.FirstAttemptAt), micros(o.NextAttemptAt),
		micros(o.Deadline), o.BrokerID, o.BrokerStatus, int64(o.FilledQty), int64(o.FilledAvgPrice),
		micros(o.FilledAt), micros(o.TerminalSince), o.Reason, int64(o.HouseShares), micros(o.SettledAt),
		int64(o.RefusedSessions), micros(o.RefusedUntil))
}

// results adds the members of an order and their allocations.
func (b *batch) results(id *rewards.OrderID, results []rewards.Result) {
	for i := range results {
		r := &results[i]
		b.add(members, id[:], int64(i), r.AppID[:], r.RewardID[:], int64(r.Amount))
		if r.Bought.Amount > 0 {
			b.add(allocations, r.AppID[:], r.RewardID[:], id[:], int64(r.Bought.Amount), int64(r.Bought.Shares))
		}
	}
}

func (b *batch) holding(app rewards.AppID, user rewards.UserID, l *lot) {
	b.add(holdings, app[:], user[:], int64(l.asset), int64(l.shares), int64(l.cost))
}

func (b *batch) day(date time.Time, d day) {
	b.add(spending, micros(date), int64(d.notional), int64(d.house))
}

// micros returns a time as it is stored, 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
