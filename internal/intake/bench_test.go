package intake_test

import (
	"context"
	"sync"
	"testing"

	"stockrewards/internal/intake"
	"stockrewards/internal/rewards"
)

// noStore answers at once, so that only the intake is measured.
type noStore struct{}

func (noStore) RecordRewards(_ context.Context, batch []rewards.NewReward) ([]rewards.Outcome, error) {
	return make([]rewards.Outcome, len(batch)), nil
}

func (noStore) CreateUsers(_ context.Context, batch []rewards.User) ([]rewards.UserOutcome, error) {
	return make([]rewards.UserOutcome, len(batch)), nil
}

func (noStore) ChangeUsers(_ context.Context, batch []rewards.UserChange) ([]rewards.UserOutcome, error) {
	return make([]rewards.UserOutcome, len(batch)), nil
}

func (noStore) ReverseRewards(_ context.Context, batch []rewards.NewReversal) ([]rewards.ReversalOutcome, error) {
	return make([]rewards.ReversalOutcome, len(batch)), nil
}

func (noStore) Durable(context.Context) error { return nil }

func running(b *testing.B) *intake.Intake {
	b.Helper()
	i := intake.New(noStore{}, func() {})
	ctx, stop := context.WithCancel(b.Context())
	var done sync.WaitGroup
	done.Go(func() { i.Run(ctx) })
	b.Cleanup(func() {
		stop()
		done.Wait()
	})
	return i
}

func recordOne(ctx context.Context, b *testing.B, i *intake.Intake) {
	b.Helper()
	if _, err := i.Record(ctx, rewards.NewReward{IdempotencyKey: "9b2f2f0e-5d0c-4f6e-a111-0123456789ab"}); err != nil {
		b.Error(err)
	}
}

func BenchmarkRecordAlone(b *testing.B) {
	i, ctx := running(b), b.Context()
	b.ReportAllocs()
	for b.Loop() {
		recordOne(ctx, b, i)
	}
}

// BenchmarkRecordAtOnce has 64 clients per core.
func BenchmarkRecordAtOnce(b *testing.B) {
	i, ctx := running(b), b.Context()
	b.SetParallelism(64)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			recordOne(ctx, b, i)
		}
	})
}
