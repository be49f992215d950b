package store

import (
	"context"

	"stockrewards/internal/rewards"
)

// AdoptOrder takes over an order at the broker that the store does not know, after an old
// backup was restored. Waiting rewards of its asset become its members, as many as its
// notional pays for; the house gets the rest. The worker then polls and books it like any
// order, so that nothing is bought twice. The conflict is acknowledged. It fails with
// CodeNotFound when there is no such conflict or asset, and with CodeConflict when the store
// knows the order, no waiting reward fits, or a corporate action came between (rewards.RefuseAcross).
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
		actions, err := fetchAll(ctx, tx, scanAction, `SELECT `+actionColumns+` FROM actions WHERE asset_id = ?1
			ORDER BY ex_date, id`, int64(asset.ID))
		if err != nil {
			return nil, err
		}
		if err := rewards.RefuseAcross(actions, b); err != nil {
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
		c, err := conflictOf(ctx, tx, b.ClientOrderID)
		if err == nil && !c.AcknowledgedAt.IsZero() { // what it bought is booked from now on
			err = acceptShares(ctx, tx, c, -1)
		}
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
	_, known, err := fetchOne(ctx, tx, scanOrder,
		`SELECT `+orderColumns+` FROM orders WHERE client_order_id = ?1`, clientOrderID)
	if err != nil || !known {
		return err
	}
	switch c, err := conflictOf(ctx, tx, clientOrderID); {
	case err != nil:
		return err
	case c.AcknowledgedAt.IsZero():
		return conflict("the store knows this order: acknowledge the conflict")
	default:
		return conflict("the store knows this order, and nothing waits for you: it may be adopted already")
	}
}

// assetOf finds the asset of an order at the broker by the broker's asset id, or by the
// symbol when either side lacks that id.
func assetOf(ctx context.Context, tx Tx, b rewards.BrokerOrder) (rewards.Asset, error) {
	a, err := oneAsset(ctx, tx,
		`SELECT `+assetColumns+` FROM assets WHERE broker_id = ?1 AND broker_id <> ''`, b.AssetID)
	if rewards.CodeOf(err) != rewards.CodeNotFound {
		return a, err
	}
	return oneAsset(ctx, tx, `SELECT `+assetColumns+` FROM assets
		WHERE symbol = ?1 AND (broker_id = '' OR ?2 = '')`, b.Symbol, b.AssetID)
}
