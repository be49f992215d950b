package store

import (
	"context"

	"stockrewards/internal/rewards"
)

// AdoptOrder takes an order at the broker that our books do not know, after an old
// backup was restored, into the books: the rewards that wait for its asset become
// its members, as many as its notional pays for, and the house has the rest. The worker
// then follows it as any other, so that what it bought is booked and not bought again.
// Its conflict is acknowledged. It fails with
// CodeNotFound when there is no such conflict or asset, and with CodeConflict when
// the books know the order or no reward waits that it can pay for.
func (o *Operator) AdoptOrder(
	ctx context.Context, b rewards.BrokerOrder, reason string,
) (adopted rewards.Order, err error) {
	err = o.changeFor(ctx, reason, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		if err := refuseKnown(ctx, tx, b.ClientOrderID); err != nil {
			return nil, err
		}
		asset, err := assetOf(ctx, tx, b)
		if err != nil {
			return nil, err
		}
		queues, err := readQueues(ctx, tx, asset.ID, rewards.MaxMembers)
		if err != nil {
			return nil, err
		}
		plan, err := rewards.PlanAdoption(queues, b)
		if err != nil {
			return nil, err
		}
		id := rewards.NewID[rewards.Order](o.ids)
		planned, err := o.insertOrder(ctx, tx, id, asset, b.ClientOrderID, plan)
		if err != nil {
			return nil, err
		}
		adopted = planned.Adopted(o.now())
		if err := updateOrder(ctx, tx, rewards.OrderPlanned, adopted); err != nil {
			return nil, err
		}
		return []rewards.Change{
			{Object: adopted.Object(), After: adopted.Decision()}, rewards.ConflictAcknowledged(b.ClientOrderID),
		}, acknowledge(ctx, tx, b.ClientOrderID, reason, o.now())
	})
	return adopted, err
}

func refuseKnown(ctx context.Context, tx Tx, clientOrderID string) error {
	known, err := queryOrders(ctx, tx,
		`SELECT `+orderColumns+` FROM orders WHERE client_order_id = ?1`, clientOrderID)
	if err == nil && len(known) > 0 {
		err = &rewards.Error{Code: rewards.CodeConflict, Message: "the books know this order: acknowledge the conflict"}
	}
	return err
}

// assetOf is the asset that an order at the broker is about: by the broker's
// identifier of it, by the symbol when that is not known.
func assetOf(ctx context.Context, tx Tx, b rewards.BrokerOrder) (rewards.Asset, error) {
	a, err := oneAsset(ctx, tx,
		`SELECT `+assetColumns+` FROM assets WHERE broker_id = ?1 AND broker_id <> ''`, b.AssetID)
	if rewards.CodeOf(err) != rewards.CodeNotFound {
		return a, err
	}
	return oneAsset(ctx, tx, `SELECT `+assetColumns+` FROM assets
		WHERE symbol = ?1 AND (broker_id = '' OR ?2 = '')`, b.Symbol, b.AssetID)
}
