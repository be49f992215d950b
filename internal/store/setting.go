package store

import "context"

// The names of the settings.
const (
	settingInstallation  = "installation_id"
	settingBrokerKind    = "broker_kind"
	settingBrokerAccount = "broker_account"
	settingAccountNumber = "broker_account_number"
	settingCursorKey     = "cursor_key"
	settingPaused        = "paused"
	settingMarketHours   = "market_hours"
	settingReconciled    = "reconciled_until"
	settingBrakes        = "brakes"
	settingProbe         = "write_probe"
	settingTimeline      = "lease_timeline" // of the server that gave the lease
	settingLogHead       = "log_head"
	settingSealedFrom    = "sealed_from"
	settingBudgets       = "budget_changes"

	settingWebhookChanges = "webhook_changes"
	settingPastLots       = "next_past_lots" // order, while those of an older store are moved
)

// setting returns a stored setting, or "".
func setting(ctx context.Context, tx Tx, name string) (string, error) {
	var value string
	_, err := fetchValues(ctx, tx, []any{&value}, `SELECT value FROM settings WHERE name = ?1`, name)
	return value, err
}

// readSetting is setting in a read transaction.
func (s *Store) readSetting(ctx context.Context, name string) (string, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) (string, error) { return setting(ctx, tx, name) })
}

func setSetting(ctx context.Context, tx Tx, name, value string) error {
	_, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES (?1, ?2)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
	return err
}
