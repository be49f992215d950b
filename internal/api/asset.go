package api

import (
	"context"
	"net/http"

	"stockrewards/internal/rewards"
)

// listAssets answers GET /v1/assets (specification, section 4.8).
func (s *server) listAssets(ctx context.Context, _ call) (reply, error) {
	assets, err := s.Service.Catalog(ctx)
	if err != nil {
		return reply{}, err
	}
	o := begin(nil)
	list(&o, "assets", assets, appendAsset)
	return reply{status: http.StatusOK, body: o.end()}, nil
}

// appendAsset writes an asset (specification, section 2.4).
func appendAsset(b []byte, a rewards.Asset) []byte {
	o := begin(b)
	o.text("symbol", a.Symbol)
	o.text("name", a.Name)
	return o.end()
}
