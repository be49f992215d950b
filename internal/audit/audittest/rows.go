package audittest

import (
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"testing"
)

// InRows stores the entries of all sealed segments as an earlier version did, in rows. size is the number of rewards
// in a segment.
func InRows(tb testing.TB, db *sql.DB, size int64) {
	tb.Helper()
	entries := rowEntries(tb, db, size)
	Exec(tb, db, `DELETE FROM key_blocks`, `DELETE FROM user_blocks`, `UPDATE segments SET in_blocks = 0`)
	for _, e := range entries {
		for table, hash := range map[string]int64{"reward_keys": e.key, "reward_users": e.user} {
			_, err := db.ExecContext(tb.Context(), `INSERT INTO `+table+` (segment, hash, number) VALUES (?, ?, ?)`,
				(e.number-1)/size, hash, e.number)
			Check(tb, err)
		}
	}
}

// rowEntry is what finds a reward: the hashes of its key and of its user.
type rowEntry struct{ number, key, user int64 }

func rowEntries(tb testing.TB, db *sql.DB, size int64) (entries []rowEntry) {
	tb.Helper()
	rows, err := db.QueryContext(tb.Context(), `SELECT rowid, app_id || CAST(idempotency_key AS BLOB), substr(user_id, 9)
		FROM rewards WHERE rowid <= (SELECT max(number) + 1 FROM segments) * ?`, size)
	Check(tb, err)
	defer func() { Check(tb, rows.Close()) }()
	for rows.Next() {
		var number int64
		var key, user []byte
		Check(tb, rows.Scan(&number, &key, &user))
		hash := sha256.Sum256(key)
		entries = append(entries, rowEntry{
			number, int64(binary.BigEndian.Uint64(hash[:])), int64(binary.BigEndian.Uint64(user)),
		})
	}
	Check(tb, rows.Err())
	return entries
}
