package page

import (
	"context"
	"fmt"
	"strings"

	"stockrewards/internal/rewards"
)

// dollars writes an amount or a price for people: with two decimals, or as many as it
// needs.
func dollars(amount fmt.Stringer) string {
	whole, fraction, _ := strings.Cut(amount.String(), ".")
	const cents = 2
	return "$" + whole + "." + fraction + strings.Repeat("0", max(0, cents-len(fraction)))
}

// maxTypos is how many letters of a symbol can be wrong for another one to be meant.
const maxTypos = 2

// problem is what a person reads of an error: the API's words are for programs.
func (h *handler) problem(ctx context.Context, e *rewards.Error) (string, error) {
	switch details := e.Details.(type) {
	case rewards.AssetDetails:
		if e.Code != rewards.CodeUnprocessable {
			return e.Message, nil
		}
		assets, err := h.Service.Catalog(ctx)
		if err != nil {
			return "", err
		}
		text := fmt.Sprintf("the catalog has no stock with the symbol %s", details.AssetSymbol)
		if meant := nearest(details.AssetSymbol, assets); meant != "" {
			text += "; did you mean " + meant + "?"
		}
		return text, nil
	case rewards.MinAwardDetails:
		return "the smallest reward that the operator takes is " + dollars(details.MinAmount), nil
	}
	return e.Message, nil
}

// nearest is the stock that somebody means who writes a symbol wrong, or a company's
// name: "AAPL (Apple Inc.)"; "" when there is no such stock.
func nearest(written string, assets []rewards.Asset) string {
	symbols := make([]string, len(assets))
	for i, a := range assets {
		symbols[i] = a.Symbol
	}
	symbol := rewards.Nearest(written, symbols)
	near := rewards.Distance(written, symbol) <= min(maxTypos, len(written)-1)
	for _, a := range assets {
		named := len(written) > maxTypos && strings.HasPrefix(rewards.UpperSymbol(a.Name), written)
		if named || near && a.Symbol == symbol {
			return a.Symbol + " (" + a.Name + ")"
		}
	}
	return ""
}
