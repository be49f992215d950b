package alpaca

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"stockrewards/internal/rewards"
)

// The stable codes of refusals. Those of final refusals are failure codes.
const (
	codeAssetNotFound       = string(rewards.FailureAssetNotFound)
	codeAssetNotTradable    = string(rewards.FailureAssetNotTradable)
	codeAssetNotFractional  = string(rewards.FailureAssetNotFractionable)
	codeNotionalTooSmall    = string(rewards.FailureNotionalTooSmall)
	codeOrderRefused        = string(rewards.FailureOrderRefused)
	codeInsufficientBuying  = "insufficient_buying_power"
	codeForbidden           = "forbidden"
	codeUnauthorized        = "unauthorized"
	codeNoSuchEndpoint      = "not_found"
	duplicateMessage        = "client_order_id must be unique"
	insufficientBuyingWords = "insufficient buying power"
)

// classify returns what an answer other than 2xx means for the request. It goes by the status and
// the message, because the broker's codes are too coarse. Without the broker's own JSON body even a
// 4xx proves nothing: it may come from a proxy that passed the request on.
func classify(submit bool, status int, body []byte, clean func(string) string) *rewards.BrokerError {
	message, ok := errorMessage(body)
	if !ok {
		return unknown(status, "")
	}
	e := meaning(submit, status, message)
	e.Message = clean(e.Message) // last, so that it cannot change the meaning
	return e
}

func meaning(submit bool, status int, message string) *rewards.BrokerError {
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return refusal(message)
	case http.StatusForbidden:
		return forbidden(message)
	case http.StatusUnauthorized:
		return &rewards.BrokerError{Kind: rewards.BrokerWait, Code: codeUnauthorized, Message: message}
	case http.StatusNotFound:
		if submit { // the address is wrong, or the account
			return &rewards.BrokerError{
				Kind: rewards.BrokerWait, Code: codeNoSuchEndpoint, Message: message, Lasting: true,
			}
		}
		return &rewards.BrokerError{Kind: rewards.BrokerNotFound, Message: message}
	}
	return unknown(status, message)
}

func unknown(status int, message string) *rewards.BrokerError {
	words := "status " + strconv.Itoa(status)
	if message != "" {
		words += ": " + message
	}
	return &rewards.BrokerError{Kind: rewards.BrokerUnknown, Message: words}
}

// refusal classifies a 400 or 422.
func refusal(message string) *rewards.BrokerError {
	e := &rewards.BrokerError{Kind: rewards.BrokerRefused, Code: codeOrderRefused, Message: message}
	says := func(words string) bool { return strings.Contains(strings.ToLower(message), words) }
	switch {
	case says(duplicateMessage):
		e.Kind, e.Code = rewards.BrokerDuplicate, ""
	case says(insufficientBuyingWords):
		e.Kind, e.Code = rewards.BrokerWait, codeInsufficientBuying
	case says("not fractionable"):
		e.Code = codeAssetNotFractional
	case says("not tradable"):
		e.Code = codeAssetNotTradable
	case says("asset") && (says("not found") || says("could not find")):
		e.Code = codeAssetNotFound
	case says("notional amount must be >="), says("minimal amount of order"):
		e.Code = codeNotionalTooSmall
	}
	return e
}

// forbidden classifies a 403. Except for a stock without fractions it is about the account and ends
// when the account is fixed.
func forbidden(message string) *rewards.BrokerError {
	e := &rewards.BrokerError{Kind: rewards.BrokerWait, Code: codeForbidden, Message: message, Lasting: true}
	lower := strings.ToLower(message)
	switch {
	case strings.Contains(lower, insufficientBuyingWords):
		e.Code, e.Lasting = codeInsufficientBuying, false
	case strings.Contains(lower, "not fractionable"):
		e.Kind, e.Code, e.Lasting = rewards.BrokerRefused, codeAssetNotFractional, false
	}
	return e
}

// errorMessage returns the message of the broker's JSON error, and whether the body is one.
func errorMessage(body []byte) (message string, ok bool) {
	var e struct {
		Message *string `json:"message"`
	}
	if err := json.Unmarshal(body, &e); err != nil || e.Message == nil {
		return "", false
	}
	return *e.Message, true
}
