package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"stockrewards/internal/store/segment"
)

// dropUnneeded drops the indexes that segments replace, unless the store has a segment of rewards.
// Then Store.IndexRewards drops them when every full segment is sealed.
func dropUnneeded(ctx context.Context, db *sql.DB) error {
	var newest int64
	err := db.QueryRowContext(ctx, `SELECT coalesce(max(rowid), 0) FROM rewards`).Scan(&newest)
	if err != nil || newest >= segment.Size {
		return err
	}
	for _, index := range []string{"rewards_by_key", "rewards_by_user"} {
		if _, err := db.ExecContext(ctx, `DROP INDEX IF EXISTS `+index); err != nil {
			return fmt.Errorf("sqlite: cannot drop the index %s: %w", index, err)
		}
	}
	return nil
}
