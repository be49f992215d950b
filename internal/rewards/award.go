package rewards

import "context"

// Award records a reward and returns it. For a replay it returns the stored reward and true
// (specification, section 4.5).
func (s *Service) Award(ctx context.Context, r NewReward) (Reward, bool, error) {
	c, err := s.catalogNow(ctx)
	if err != nil {
		return Reward{}, false, err
	}
	s.complete(&r, c)
	outcome, err := s.recorder.Record(ctx, r)
	if err != nil {
		return Reward{}, false, err
	}
	return outcome.answer(r)
}

// complete sets what the service decides on besides what the client sent.
func (s *Service) complete(r *NewReward, c catalog) {
	r.AssetID, r.MinAmount = c.giftable[r.Symbol], s.minAward
}

// MaxBatch is the largest number of awards in a batch.
const MaxBatch = 1000

// BatchOutcome is the outcome of one request of a batch, or why it has no outcome.
type BatchOutcome struct {
	Outcome Outcome
	Err     error
}

// Awarded answers one request of a batch as Award would.
type Awarded struct {
	Reward   Reward
	Replayed bool
	Err      error
}

// AwardAll records a batch of rewards of one app and answers each request as Award would, one
// after the other (additions, section 2). It fails when no request could be decided.
func (s *Service) AwardAll(ctx context.Context, app AppID, batch []NewReward) ([]Awarded, error) {
	c, err := s.catalogNow(ctx)
	if err != nil {
		return nil, err
	}
	for i := range batch {
		s.complete(&batch[i], c)
	}
	recorded, err := s.recorder.RecordAll(ctx, app, batch)
	if err != nil {
		return nil, err
	}
	list, failed := make([]Awarded, len(batch)), 0
	for i, r := range recorded {
		a := &list[i]
		if a.Err = r.Err; r.Err != nil {
			failed++
			continue
		}
		a.Reward, a.Replayed, a.Err = r.Outcome.answer(batch[i])
	}
	if failed == len(list) && failed > 0 {
		return nil, list[0].Err
	}
	return list, nil
}

func (o Outcome) answer(r NewReward) (Reward, bool, error) {
	switch o.Verdict {
	case Created:
		return o.Reward, false, nil
	case Replay:
		return o.Reward, true, nil
	case Conflict:
		return Reward{}, false, &Error{
			Code: CodeConflict, Message: "idempotencyKey was already used with a different payload",
			Details: KeyDetails{r.IdempotencyKey},
		}
	case NoSuchUser:
		return Reward{}, false, notFound("user")
	case BelowMinAward:
		return Reward{}, false, &Error{
			Code: CodeUnprocessable, Message: "amountUsd is less than the smallest award that the operator accepts",
			Details: MinAwardDetails{r.MinAmount},
		}
	case OverBudget:
		return Reward{}, false, &Error{
			Code: CodeUnprocessable, Message: "amountUsd is more than a budget of the app has left", Details: *o.Budget,
		}
	default: // NotGiftable
		return Reward{}, false, &Error{
			Code: CodeUnprocessable, Message: "assetSymbol is not in the catalog",
			Details: AssetDetails{r.Symbol},
		}
	}
}
