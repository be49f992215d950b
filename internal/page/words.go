package page

import (
	"context"
	"fmt"
	"strings"

	"stockrewards/internal/rewards"
)

// dollars formats an amount or a price with at least two decimals.
func dollars(amount fmt.Stringer) string {
	whole, fraction, _ := strings.Cut(amount.String(), ".")
	const cents = 2
	return "$" + whole + "." + fraction + strings.Repeat("0", max(0, cents-len(fraction)))
}

// maxTypos is the largest edit distance of a suggested symbol.
const maxTypos = 2

// problem words an error for people; the API's messages are for developers.
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
		if suggestion := nearest(details.AssetSymbol, assets); suggestion != "" {
			text += "; did you mean " + suggestion + "?"
		}
		return text, nil
	case rewards.MinAwardDetails:
		return "the operator's minimum reward is " + dollars(details.MinAmount), nil
	}
	return e.Message, nil
}

// nearest suggests a stock for a mistyped symbol or a company's name, such as "AAPL (Apple
// Inc.)"; "" when no stock is close.
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

// Quoted returns a word of a command as a shell must read it.
func Quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-:"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
