package fulfillment

import (
	"context"
	"errors"

	"stockrewards/internal/rewards"
)

// before returns another open action of the day, and whether the broker did a before it. SequenceUnknown says that none
// may come before a.
func (w *Worker) before(
	ctx context.Context, a rewards.Action, at judging, p prepared, judgment rewards.Judgment,
) (rewards.Action, rewards.Sequence, error) {
	gone := judgment == rewards.JudgeWait && p.standing.Renaming && p.standing.Vanished()
	if !gone && judgment != rewards.JudgeApply && judgment != rewards.JudgeDiffer {
		return a, rewards.SequenceUnknown, nil
	}
	for _, b := range w.actions.open {
		if b.ID == a.ID || b.ExDate != a.ExDate {
			continue
		}
		sequence, known := w.plainSequence(a, b, at.clock, judgment)
		if !known {
			var err error
			if sequence, err = w.shownSequence(ctx, a, b, at, p, judgment); err != nil {
				return b, rewards.SequenceUnknown, err
			}
		}
		if sequence == rewards.SequenceSecond || sequence == rewards.SequenceEither {
			return b, sequence, nil
		}
	}
	return a, rewards.SequenceUnknown, nil
}

// plainSequence returns whether the broker did a before b, as far as that is known without its positions. A judgment to
// wait says that no position has the new symbol of a yet.
func (w *Worker) plainSequence(
	a, b rewards.Action, clock rewards.MarketClock, judgment rewards.Judgment,
) (sequence rewards.Sequence, known bool) {
	gone, same, counts := judgment == rewards.JudgeWait, b.AssetID == a.AssetID, a.DependsOn(b)
	due := w.due(b, clock)
	switch {
	case (counts || same) && due && a.ApprovedAfter(b):
		return rewards.SequenceSecond, true
	case gone && same && b.Undecided(clock.Now):
		return rewards.SequenceSecond, true
	case gone, !a.ApprovedAt.IsZero():
		return rewards.SequenceUnknown, true
	case b.Unordered(): // the positions may show their order meanwhile
	case counts && judgment == rewards.JudgeApply && b.Undecided(clock.Now):
		return rewards.SequenceEither, true
	}
	return rewards.SequenceUnknown, !counts && !same || !due
}

// shownSequence returns whether the broker did a before b, as far as its positions show that.
func (w *Worker) shownSequence(
	ctx context.Context, a, b rewards.Action, at judging, p prepared, judgment rewards.Judgment,
) (rewards.Sequence, error) {
	other, err := w.prepare(ctx, b, at)
	if errors.Is(err, rewards.ErrTerms) {
		return rewards.SequenceUnknown, nil
	}
	if err != nil {
		return rewards.SequenceUnknown, err
	}
	return w.sequence(a, b, p, other, judgment), nil
}

// sequence returns whether the broker did a before b, another due action of the day.
func (w *Worker) sequence(a, b rewards.Action, p, other prepared, judgment rewards.Judgment) rewards.Sequence {
	otherJudged, _ := b.Judge(other.conversion, other.standing)
	switch {
	case !b.ApprovedAt.IsZero(), judgment == rewards.JudgeDiffer && otherJudged == rewards.JudgeApply:
		return rewards.SequenceSecond
	case judgment == rewards.JudgeDiffer:
		return rewards.SequenceUnknown
	case a.CountsSharesOf(b):
		return a.SequenceTo(b.ID, p.conversion, p.standing)
	case !b.CountsSharesOf(a):
		return rewards.SequenceUnknown
	case b.Unseen(other.standing) && !w.actions.activities.covers(b.ID, other.standing, w.now()):
		return rewards.SequenceSecond // they show whether it was paid in cash
	case !b.Unexplained(other.conversion, other.standing):
		return b.SequenceTo(a.ID, other.conversion, other.standing).Reversed()
	default:
		return rewards.SequenceEither
	}
}
