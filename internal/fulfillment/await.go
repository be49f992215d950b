package fulfillment

import (
	"context"
	"sync"
	"time"

	"stockrewards/internal/rewards"
)

// betweenPages is what a call of the broker runs between two pages of its answer.
type betweenPages = func(context.Context) error

// await makes a call of the broker and renews the lease while it waits: before the call, and once when half of the
// lease's time is over. Each page of an answer counts as a call. So a broker that answers within one and a half times
// the lease's time takes no lease away. When it does not answer at all, another process gets its turn: its network may
// be better. Whether the lease was lost, the next write finds out.
func (w *Worker) await(ctx context.Context, call func(context.Context, betweenPages) error) error {
	var renewing sync.Mutex // the pages are read beside this goroutine
	renew := func(ctx context.Context) error {
		renewing.Lock()
		defer renewing.Unlock()
		return w.stillLeads(ctx)
	}
	_ = renew(ctx)
	half := w.cfg.LeaseTTL / 2
	timer := time.NewTimer(half)
	defer timer.Stop()
	done := make(chan error, 1)
	go func() {
		done <- call(ctx, func(ctx context.Context) error {
			timer.Reset(half)
			return renew(ctx)
		})
	}()
	for {
		select {
		case err := <-done:
			return err
		case <-timer.C:
			_ = renew(ctx)
		}
	}
}

// ask is await for a call with an answer of one page.
func ask[T any](ctx context.Context, w *Worker, call func(context.Context) (T, error)) (answer T, err error) {
	err = w.await(ctx, func(ctx context.Context, _ betweenPages) (err error) {
		answer, err = call(ctx)
		return err
	})
	return answer, err
}

// orders lists the broker's orders submitted after a moment of its time.
func (w *Worker) orders(ctx context.Context, after time.Time) (list []rewards.BrokerOrder, err error) {
	err = w.await(ctx, func(ctx context.Context, between betweenPages) (err error) {
		list, err = w.broker.Orders(ctx, after, between)
		return err
	})
	return list, err
}

// clock is the market's hours now. When the broker's clock cannot be read, the rest of the step does not ask again:
// each call may take as long as the broker's client waits.
func (w *Worker) clock(ctx context.Context) (rewards.MarketClock, error) {
	if w.clockErr != nil {
		return rewards.MarketClock{}, w.clockErr
	}
	c, err := ask(ctx, w, w.market.Clock)
	w.clockErr = err
	return c, err
}

const (
	// priceWait bounds the wait for prices within a step. All stocks wait meanwhile, and the service reads the prices
	// beside the steps too.
	priceWait = time.Second
	// priceRest is how long no step reads prices after they could not be read.
	priceRest = 15 * time.Second
	// priceShare is the rest after a reading, as a multiple of its duration.
	priceShare = 15
)

// readPrices reads the prices for a short time. After that it rests: the service reads them beside the steps.
func (w *Worker) readPrices(ctx context.Context, what string) {
	begun := w.now()
	if rest := w.nextPrices.Sub(begun); rest > 0 && rest <= priceRest {
		return
	}
	within, cancel := context.WithTimeout(ctx, priceWait)
	defer cancel()
	err := w.market.Refresh(within)
	w.report(ctx, what, err)
	ended := w.now()
	w.nextPrices = ended.Add(min(priceRest, priceShare*ended.Sub(begun)))
	if err != nil {
		w.nextPrices = ended.Add(priceRest)
	}
}
