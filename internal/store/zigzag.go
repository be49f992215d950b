package store

// A user's rewards in a status are listed by two keys: the user's rewards in any status,
// and the app's in that status. A key of both would have to change twice in the life of
// each reward. Both are in id order, so the statement zigzags: from the newest of the
// one it jumps to the newest of the other that is not newer, and so on. Where both have
// the same id, it is one of the list. What only one of them has is passed over, however
// much that is.
//
// In hop, place is an id of the user on even turns and one in the status on odd ones;
// asked is the place before.
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
		SELECT ` + rewardColumns + ` FROM hop CROSS JOIN rewards
			WHERE turn = 1 AND place = asked AND app_id = ?1 AND id = place AND status = ?5 LIMIT ?3`

	openOfUser = zigzagBegin + `SELECT id FROM open_rewards
		WHERE app_id = ?1 AND status = ?5 AND id <= place ORDER BY id DESC LIMIT 1` + zigzagEnd
	// Each executed reward has an allocation. One that is bought in part has one too.
	executedOfUser = zigzagBegin + `SELECT reward_id FROM allocations
		WHERE app_id = ?1 AND reward_id <= place ORDER BY reward_id DESC LIMIT 1` + zigzagEnd
)
