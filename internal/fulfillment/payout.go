package fulfillment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"stockrewards/internal/rewards"
)

// cashPatience is how many days after the pay date, or the ex-date without one, a payment may come
// before an operator is asked.
const cashPatience = 60

// payOut books the payments of the broker that have come, shares them among the users and makes
// awards of what is reinvested.
func (w *Worker) payOut(ctx context.Context, clock rewards.MarketClock) error {
	var errs []error
	for _, a := range w.actions.unpaid {
		if w.actions.sweep.ActionID == a.ID {
			continue // who gets how much is not recorded yet
		}
		w.heartbeat()
		err := w.payAction(ctx, a, clock)
		if errors.Is(err, rewards.ErrLostLease) {
			return err
		}
		if !errors.Is(err, rewards.ErrStale) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (w *Worker) payAction(ctx context.Context, a rewards.Action, clock rewards.MarketClock) error {
	p, found, err := w.store.Payout(ctx, a.ID)
	if err != nil {
		return err
	}
	switch {
	case !found:
		return w.findPayment(ctx, a, clock)
	case p.SharedAt.IsZero():
		return w.share(ctx, a)
	case p.PaidAt.IsZero():
		return w.pay(ctx, a, p)
	default:
		w.actions.openAt = w.actions.openAt.Add(-openEvery)
		return nil
	}
}

// findPayment looks for the broker's payment among its activities.
func (w *Worker) findPayment(ctx context.Context, a rewards.Action, clock rewards.MarketClock) error {
	stock, err := w.stock(ctx, a.AssetID)
	if err != nil {
		return err
	}
	list, spent, err := w.store.PaymentsOf(ctx, a.ExDate, distinct(a.Symbol, stock.Symbol, a.NewSymbol)...)
	if err != nil {
		return err
	}
	p, found := a.PaidBy(list, spent, stock.Symbol, w.actions.unpaid...)
	if !found {
		return w.awaitPayment(ctx, a, clock)
	}
	if slices.ContainsFunc(w.actions.open, a.CountsAfter) {
		return nil
	}
	entitlement, err := w.store.Entitlement(ctx, a)
	if err != nil {
		return err
	}
	if p, err = entitlement.Count(p, a.ExDate); err != nil {
		return err
	}
	w.log.InfoContext(ctx, "the broker paid for a corporate action", slog.String("action", a.ID),
		slog.String("net", p.Net.String()), slog.String("activity", p.ActivityID))
	return w.store.BeginPayout(ctx, w.lease, a.ID, p)
}

func distinct(symbols ...string) []string {
	var list []string
	seen := map[string]bool{"": true}
	for _, s := range symbols {
		if !seen[s] {
			list, seen[s] = append(list, s), true
		}
	}
	return list
}

// awaitPayment asks an operator about a dividend that was not paid for long.
func (w *Worker) awaitPayment(ctx context.Context, a rewards.Action, clock rewards.MarketClock) error {
	if rewards.DateOf(clock.Now) <= max(a.ExDate, a.PayDate).Plus(cashPatience) {
		return nil
	}
	if a.Type != rewards.ActionCashDividend {
		w.alarms.raise(rewards.AlarmAction+a.ID, a.String()+": the broker has not paid")
		return nil
	}
	o := rewards.Observation{Now: clock.Now, SeenAt: w.now()}
	return w.changeAction(ctx, a, o.Hold(a, fmt.Sprintf("the broker has not paid within %d days", cashPatience)))
}

func (w *Worker) stock(ctx context.Context, id rewards.AssetID) (rewards.Asset, error) {
	assets, err := w.store.Assets(ctx)
	if err != nil {
		return rewards.Asset{}, err
	}
	for _, a := range assets {
		if a.ID == id {
			return a, nil
		}
	}
	return rewards.Asset{}, nil
}

// share computes the users' parts.
func (w *Worker) share(ctx context.Context, a rewards.Action) error {
	if w.now().Before(w.actions.nextSweep) {
		return nil
	}
	begun := w.now()
	_, err := w.store.SharePayout(ctx, w.lease, a.ID)
	w.rest(begun)
	return err
}

// rest makes the sweeps rest for as long as their last transaction deserves.
func (w *Worker) rest(begun time.Time) {
	now := w.now()
	w.actions.nextSweep = now.Add(sweepRest * now.Sub(begun))
	w.Nudge()
}

// pay makes awards of the next users' cash.
func (w *Worker) pay(ctx context.Context, a rewards.Action, p rewards.Payout) error {
	begun := w.now()
	if begun.Before(w.actions.nextSweep) {
		return nil
	}
	target, err := w.reinvestIn(ctx, a)
	if err != nil {
		return err
	}
	part, policies, err := w.store.NextPayees(ctx, a.ID)
	if err != nil {
		return err
	}
	if err := w.award(ctx, a, p, target, part, policies); err != nil {
		return err
	}
	w.rest(begun)
	return w.store.SavePaid(ctx, w.lease, a.ID, part)
}

// reinvestIn is the stock that the cash becomes; 0: a client pays it.
func (w *Worker) reinvestIn(ctx context.Context, a rewards.Action) (rewards.AssetID, error) {
	if a.Type == rewards.ActionCashDividend {
		return a.AssetID, nil
	}
	assets, err := w.store.Assets(ctx)
	if err != nil {
		return 0, err
	}
	for _, asset := range assets {
		if asset.Symbol == a.NewSymbol && asset.Giftable() {
			return asset.ID, nil
		}
	}
	return 0, nil
}

// award records the awards of a part and notes them in it. They are ordinary awards with keys of
// their own, so that a repetition after a crash records nothing twice. It also notes those that were recorded before
// an operator decided otherwise.
func (w *Worker) award(
	ctx context.Context, a rewards.Action, p rewards.Payout, stock rewards.AssetID, part []rewards.Effect,
	policies map[rewards.AppID]rewards.DividendPolicy,
) error {
	var open []int
	for i, e := range part {
		if e.Awardable() {
			open = append(open, i)
		}
	}
	for attempt := 1; len(open) > 0; attempt++ {
		if attempt > rewards.CashKeys {
			return fmt.Errorf("cannot award the cash of %s: its idempotency keys are used", a.ID)
		}
		batch := make([]rewards.NewReward, len(open))
		for i, place := range open {
			into := stock
			if policies[part[place].AppID] != rewards.DividendsReinvest {
				into = 0
			}
			batch[i] = a.CashAward(part[place], into, attempt, p.ActivityID)
		}
		outcomes, err := w.store.RecordCashAwards(ctx, w.lease, batch)
		if err != nil {
			return err
		}
		var taken []int
		for i, o := range outcomes {
			switch o.Verdict {
			case rewards.Created, rewards.Replay:
				part[open[i]].RewardID = o.Reward.ID
			case rewards.Conflict:
				taken = append(taken, open[i])
			case rewards.NotGiftable: // the cash stays cash
			default:
				return fmt.Errorf("cannot award the cash of %s: verdict %d", a.ID, o.Verdict)
			}
		}
		open = taken
	}
	return nil
}
