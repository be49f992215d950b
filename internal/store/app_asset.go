package store

import (
	"context"
	"sync"

	"stockrewards/internal/rewards"
)

// exposures are the stocks that users of an app are known to hold or have held, so that each is
// stored once. It is safe for concurrent use.
type exposures struct{ known sync.Map }

type appAsset struct {
	app   rewards.AppID
	asset rewards.AssetID
}

func (e *exposures) add(apps []rewards.AppID, asset rewards.AssetID) {
	for _, app := range apps {
		e.known.Store(appAsset{app, asset}, true)
	}
}

// addAppAssets notes that users of the apps hold a stock.
func (s *Store) addAppAssets(ctx context.Context, tx Tx, apps []rewards.AppID, asset rewards.AssetID) error {
	s.recall()
	for _, app := range apps {
		if _, known := s.exposed.known.Load(appAsset{app, asset}); known {
			continue
		}
		if err := addAppAsset(ctx, tx, app, asset); err != nil {
			return err
		}
	}
	return nil
}
