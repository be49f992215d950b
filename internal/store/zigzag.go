package store

// A user's rewards in a status are found by two indexes: the user's rewards, and the app's
// rewards in that status. An index of both would change twice in the life of each reward. Both
// are in id order, so the statement zigzags: from the newest id in one index it jumps to the
// newest id in the other that is not newer, and so on. An id that is in both belongs to the
// list. The cost depends on the number of jumps, not on the rewards skipped.
//
// In hop, place is an id of the user on even turns and an id in the status on odd ones; asked
// is the place before.
const (
	zigzagBegin = `WITH RECURSIVE hop (place, asked, turn) AS (
		SELECT newest.id, newest.id, 0 FROM (SELECT id FROM rewards
			WHERE app_id = ?1 AND user_id = ?4 AND id < ?2 ORDER BY id DESC LIMIT 1) AS newest
		UNION ALL SELECT CASE WHEN turn = 0 THEN (`
	zigzagEnd = `)
			WHEN place = asked THEN (SELECT id FROM rewards
				WHERE app_id = ?1 AND user_id = ?4 AND id < place ORDER BY id DESC LIMIT 1)
			ELSE (SELECT id FROM rewards
				WHERE app_id = ?1 AND user_id = ?4 AND id <= place ORDER BY id DESC LIMIT 1)
			END, place, 1 - turn FROM hop WHERE place IS NOT NULL)
		SELECT ` + listColumns + ` FROM hop CROSS JOIN rewards
			WHERE turn = 1 AND place = asked AND app_id = ?1 AND id = place`

	// Each executed reward has an allocation, but so has a partly bought one.
	executedOfUser = zigzagBegin + `SELECT reward_id FROM allocations
		WHERE app_id = ?1 AND reward_id <= place ORDER BY reward_id DESC LIMIT 1` + zigzagEnd +
		` AND status = ` + executed + ` LIMIT ?3 + 0`
)

// openOfUser lists the user's rewards in the status ?5, recorded or executing.
func openOfUser() string {
	return zigzagBegin + openOf(`id <= place AND status = ?5`, `1`) + zigzagEnd + ` LIMIT ?3 + 0`
}
