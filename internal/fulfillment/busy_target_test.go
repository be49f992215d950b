package fulfillment_test

import (
	"net/http"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// A merger is applied although awards of the stock that it gives come all the time, each order of which takes seconds.
// Before the broker acts nothing keeps them from being bought, and afterwards they are.
func TestAMergerIntoABusyStock(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]string{
		"the broker acts": "2000-01-05 02:29:50", "before it acts": "2000-01-05 01:00:00",
	}, func(w *world, moment string) {
		w.holders("AAPL")
		id := w.control(http.MethodPost, "corporate-actions", `{"type":"stock_merger","acquiree_symbol":"AAPL","acquirer_symbol":"KO",`+
			`"acquiree_rate":1,"acquirer_rate":1,"effective_date":"2000-01-05"}`)
		w.until(moment)
		w.afflict("partial-then-filled share=50 by=3s symbol=KO")
		var given []rewards.Reward
		for range 160 {
			given = append(given, w.give("KO", 5*usd))
			w.run(250 * time.Millisecond)
		}
		if moment == "2000-01-05 02:29:50" {
			w.wantAction(id, rewards.ActionSwept)
		}
		const newest = 20 // of the last five seconds
		w.wantAll(rewards.Executed, given[:len(given)-newest]...)
		w.run(10 * time.Second)
		w.wantAll(rewards.Executed, given...)
		w.wantBalance()
	})
}
