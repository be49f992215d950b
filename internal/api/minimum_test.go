package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"stockrewards/internal/money"
)

// Decisions: the operator's minimum award is checked after the asset. Replays ignore it,
// and a refused request leaves its key free.
func TestLeastAward(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	user := c.newUser(t)
	early := award(user, "amountUsd", "0.999999", "idempotencyKey", `"before-minimum"`)
	c.post(t, "/v1/rewards", early).wantStatus(t, http.StatusCreated)
	w.service.SetMinAward(money.Dollar)
	c.post(t, "/v1/rewards", early).wantStatus(t, http.StatusOK)
	const key = `"too-small-1"`
	small := award(user, "amountUsd", "0.999999", "idempotencyKey", key)
	c.post(t, "/v1/rewards", small).wantStatus(t, http.StatusUnprocessableEntity).
		want(t, "unprocessable_entity", "error", "code").want(t, map[string]any{"leastUsd": json.Number("1")}, "error", "details")
	c.post(t, "/v1/rewards", award(user, "amountUsd", "0.5", "assetSymbol", `"NONE"`)).
		wantStatus(t, http.StatusUnprocessableEntity).want(t, map[string]any{"assetSymbol": "NONE"}, "error", "details")
	c.post(t, "/v1/rewards", award(unknownID, "amountUsd", "0.5")).wantStatus(t, http.StatusNotFound)
	c.post(t, "/v1/rewards", award(user, "amountUsd", "1", "idempotencyKey", key)).wantStatus(t, http.StatusCreated)
}
