package api

import (
	"context"
	"net/http"

	"stockrewards/internal/rewards"
)

// listAssets serves GET /v1/assets (specification, section 4.8).
func (s *server) listAssets(ctx context.Context, _ call) (reply, error) {
	assets, err := s.Service.Catalog(ctx)
	if err != nil {
		return reply{}, err
	}
	o := s.begin()
	appendList(&o, "assets", assets, appendAsset)
	return o.reply(http.StatusOK), nil
}

// appendAsset writes an asset (specification, section 2.4).
func appendAsset(b []byte, a rewards.Asset) []byte {
	o := begin(b)
	o.string("symbol", a.Symbol)
	o.string("name", a.Name)
	return o.end()
}
