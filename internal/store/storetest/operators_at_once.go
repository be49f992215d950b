package storetest

import (
	"fmt"
	"sync"
	"testing"
)

// testOperatorsAtOnce: the deeds of several operators at once are in one chain, and a
// command of each counts once.
func testOperatorsAtOnce(t *testing.T, w *World) {
	const operators, deeds = 4, 10
	before := len(w.log(t))
	var running sync.WaitGroup
	for n := range operators {
		running.Go(func() {
			for i := range deeds {
				if err := w.SetPaused(t.Context(), fmt.Sprint("operator ", n, ", reason ", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	w.wantChain(t, before+operators*deeds)
}
