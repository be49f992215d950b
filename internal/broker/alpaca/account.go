package alpaca

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Account reads the account of the credentials.
func (c *Client) Account(ctx context.Context) (rewards.BrokerAccount, error) {
	return ask(ctx, c, call{operation: opAccount, host: c.trading, path: "/v2/account"}, object(c.readAccount))
}

type wireAccount struct {
	ID          string `json:"id"`
	Number      string `json:"account_number"`
	Status      string `json:"status"`
	BuyingPower number `json:"buying_power"`
	Trading     bool   `json:"trading_blocked"`
	Account     bool   `json:"account_blocked"`
	Suspended   bool   `json:"trade_suspended_by_user"`
}

func (c *Client) readAccount(w wireAccount) (rewards.BrokerAccount, error) {
	power, err := w.BuyingPower.roundedUSD()
	if errors.Is(err, errMissing) { // only id and status are required (Trading API: Account)
		err = nil
	}
	if err == nil && w.ID == "" {
		err = errors.New("no id")
	}
	if err != nil {
		return rewards.BrokerAccount{}, err
	}
	return rewards.BrokerAccount{
		ID: c.clean(w.ID), Number: c.clean(w.Number), Status: c.clean(w.Status), BuyingPower: power,
		Blocked: w.Trading || w.Account || w.Suspended,
	}, nil
}

// Positions lists what the account holds. One unreadable position fails the whole list, because a
// comparison with the books must not see a gap. The quantity of a short position is negative.
func (c *Client) Positions(ctx context.Context) ([]rewards.Position, error) {
	return ask(ctx, c, call{
		operation: opPositions, host: c.trading, path: "/v2/positions", maxBody: maxListBody,
	}, list(maxListed, c.readPositions))
}

type wirePosition struct {
	AssetID string `json:"asset_id"`
	Symbol  string `json:"symbol"`
	Qty     number `json:"qty"`
}

func (c *Client) readPositions(raw []jsontext.Value) ([]rewards.Position, error) {
	positions := make([]rewards.Position, len(raw))
	for i, value := range raw {
		var w wirePosition
		if err := decode(value, &w); err != nil {
			return nil, fmt.Errorf("position: %w", err)
		}
		qty, err := money.ParseShares(string(w.Qty))
		if err == nil && w.Symbol == "" {
			err = errors.New("no symbol")
		}
		if err != nil {
			return nil, fmt.Errorf("position %s: %w", c.clean(w.Symbol), err)
		}
		positions[i] = rewards.Position{AssetID: c.clean(w.AssetID), Symbol: c.clean(w.Symbol), Qty: qty}
	}
	return positions, nil
}

// Assets lists the broker's active US stocks. Unreadable ones are left out.
func (c *Client) Assets(ctx context.Context) ([]rewards.BrokerAsset, error) {
	return ask(ctx, c, call{
		operation: opAssets, host: c.trading, path: "/v2/assets", maxBody: maxListBody,
		query: map[string][]string{"status": {"active"}, "asset_class": {"us_equity"}},
	}, list(maxListed, c.readAssets))
}

func (c *Client) readAssets(raw []jsontext.Value) ([]rewards.BrokerAsset, error) {
	assets := make([]rewards.BrokerAsset, 0, len(raw))
	for _, value := range raw {
		var w wireAsset
		if err := decode(value, &w); err != nil || w.ID == "" || w.Symbol == "" {
			continue
		}
		assets = append(assets, rewards.BrokerAsset{
			ID: c.clean(w.ID), Symbol: c.clean(w.Symbol), Name: c.clean(w.Name), Exchange: c.clean(w.Exchange),
			Active: w.Status == "active", Tradable: w.Tradable, Fractionable: w.Fractionable,
		})
	}
	return assets, nil
}

type wireAsset struct {
	ID           string `json:"id"`
	Symbol       string `json:"symbol"`
	Name         string `json:"name"`
	Exchange     string `json:"exchange"`
	Status       string `json:"status"`
	Tradable     bool   `json:"tradable"`
	Fractionable bool   `json:"fractionable"`
}
