package admission_test

import (
	"testing"

	"stockrewards/internal/admission"
)

func BenchmarkEnter(b *testing.B) {
	g, a := admission.New(), app(1)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			ticket, err := g.Enter(b.Context(), a, admission.Lookup)
			if err != nil {
				b.Error(err)
			}
			ticket.Answered(400)
			ticket.Leave()
		}
	})
}
