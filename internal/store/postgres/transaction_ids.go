package postgres

import (
	"context"
	"errors"
	"fmt"
)

// The numbers of transactions in one database between the oldest that is not frozen and the newest.
const (
	manyUnfrozen = 1_500_000_000 // TransactionIDsLow reports it; by itself PostgreSQL freezes after 200 million
	mostUnfrozen = 2_144_000_000 // about where the server refuses all writes
)

// TransactionIDsLow returns how many transactions are left before the server refuses all writes, and what to do; ""
// when enough are left.
func (e *Engine) TransactionIDsLow(ctx context.Context) (string, error) {
	return e.transactionIDsLow(ctx, manyUnfrozen)
}

func (e *Engine) transactionIDsLow(ctx context.Context, many int64) (string, error) {
	var name string
	var unfrozen int64
	err := e.pool.QueryRow(ctx, `select datname, age(datfrozenxid)::bigint from pg_database
		order by age(datfrozenxid) desc, datname = current_database() desc limit 1`).Scan(&name, &unfrozen)
	switch {
	case err != nil:
		return "", classify(errors.Join(errBroken, err))
	case unfrozen <= many:
		return "", nil
	}
	const million = 1_000_000
	return fmt.Sprintf("PostgreSQL refuses all writes after %d million more transactions: end old and prepared "+
		"transactions, drop unused replication slots, then run VACUUM in the database %s as a superuser",
		max(mostUnfrozen-unfrozen, 0)/million, name), nil
}
