package store

// zigzag lists a user's rewards in a status in an older SQLite store. They are found by two indexes: the user's
// rewards, and the app's rewards in that status. An index of both would change twice in the life of each reward. Both
// are in id order, so the statement zigzags: from the newest id in one index it jumps to the
// newest id in the other that is not newer, and so on. An id that is in both belongs to the
// list. The cost depends on the number of jumps, not on the rewards skipped.
//
// In hop, found is an id of the user on even turns and an id in the status on odd ones; asked
// is the one before.
func zigzag(inStatus string) string {
	return `WITH RECURSIVE hop (found, asked, turn) AS (
		SELECT newest.of_user, newest.of_user, 0 FROM (` + newestOfUser(`< ?2`) + `) AS newest
		UNION ALL SELECT CASE WHEN turn = 0 THEN (` + inStatus + `)
			WHEN found = asked THEN (` + newestOfUser(`< found`) + `)
			ELSE (` + newestOfUser(`<= found`) + `)
			END, found, 1 - turn FROM hop WHERE found IS NOT NULL)
		SELECT ` + listColumns + ` FROM hop CROSS JOIN rewards
			WHERE turn = 1 AND found = asked AND app_id = ?1 AND id = found`
}

// newestOfUser is a query of the newest id of rewards of the user ?4 of the app ?1 in a range, as of_user.
func newestOfUser(id string) string {
	return `SELECT id AS of_user FROM rewards WHERE app_id = ?1 AND user_id = ?4 AND id ` + id +
		` ORDER BY id DESC LIMIT 1`
}

// executedOfUser lists the user's executed rewards. A jump ends in a span with an executed reward, so that some are
// of another status.
func executedOfUser() string {
	return zigzag(executedTo(`found`)) + ` AND status = ` + executed + ` LIMIT ?3 + 0`
}

// openOfUser lists the user's rewards in the status ?5, recorded or executing.
func openOfUser() string {
	return zigzag(openOf(`id <= found AND status = ?5`, `1`)) + ` LIMIT ?3 + 0`
}
