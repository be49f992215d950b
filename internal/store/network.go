package store

import "context"

// NetworkTx is a Tx over a network. It saves exchanges for statements that are first or last.
type NetworkTx interface {
	Tx
	// CommitAll runs what follows WITH and commits, if its part "stored" has n rows, at least one.
	// A row whose unique key is used counts as missing, and need not be skipped. With fewer rows it rolls back,
	// and the transaction is run again: f must do without CommitAll in the end.
	// It reports whether it committed; then f must return nil without another statement. Without
	// an error it may also do nothing, and f goes on by other statements.
	CommitAll(ctx context.Context, n int, with string, args ...any) (committed bool, err error)
	// QueryOnly is Query for the only statement of a read. Its own snapshot suffices.
	QueryOnly(ctx context.Context, each func(Row) error, query string, args ...any) error
	// TryQuery is Query that the transaction goes on after when a part of the database cannot be read: damage says why.
	// each may have been called for the rows before. It costs two more exchanges.
	TryQuery(ctx context.Context, each func(Row) error, query string, args ...any) (damage, err error)
	// ExecLater sends a statement together with the next one, or with the commit. These then fail
	// with its error, and nothing is committed. It must change at least one row.
	ExecLater(query string, args ...any)
	// ExcludeClients waits for the running WriteForClients and excludes others until the
	// transaction, one of Write, ends. It must come before any lock.
	ExcludeClients(ctx context.Context) error
}

// excludeClients excludes WriteForClients, which a Write of an embedded engine does by itself.
func excludeClients(ctx context.Context, tx Tx) error {
	if network, ok := tx.(NetworkTx); ok {
		return network.ExcludeClients(ctx)
	}
	return nil
}

// commitAll is CommitAll where the engine supports it.
func commitAll(ctx context.Context, tx Tx, n int, with string, args ...any) (committed bool, err error) {
	if network, ok := tx.(NetworkTx); ok {
		return network.CommitAll(ctx, n, with, args...)
	}
	return false, nil
}

// only returns tx for the only statement of a read.
func only(tx Tx) Tx {
	if network, ok := tx.(NetworkTx); ok {
		return onlyTx{network}
	}
	return tx
}

type onlyTx struct{ NetworkTx }

// Query implements Tx.
func (tx onlyTx) Query(ctx context.Context, each func(Row) error, query string, args ...any) error {
	return tx.QueryOnly(ctx, each, query, args...)
}

// tryQuery is TryQuery where the engine supports it, and otherwise a Query.
func tryQuery(ctx context.Context, tx Tx, each func(Row) error, query string, args ...any) (damage, err error) {
	if network, ok := tx.(NetworkTx); ok {
		return network.TryQuery(ctx, each, query, args...)
	}
	return nil, tx.Query(ctx, each, query, args...)
}

// execLater runs a statement whose count of rows does not matter. A NetworkTx sends it with the next.
func execLater(ctx context.Context, tx Tx, query string, args ...any) error {
	if network, ok := tx.(NetworkTx); ok {
		network.ExecLater(query, args...)
		return nil
	}
	_, err := tx.Exec(ctx, query, args...)
	return err
}
