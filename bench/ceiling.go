package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ceilingCommand is a bare server: net/http and JSON. Its speed is what a service that did
// nothing would reach on this machine.
type ceilingCommand struct {
	Listen string `required:"" help:"Listen on this HOST:PORT."`
}

// rewardRequest is the body of POST /v1/rewards.
type rewardRequest struct {
	UserID         string         `json:"userId"`
	IdempotencyKey string         `json:"idempotencyKey"`
	AmountUSD      jsontext.Value `json:"amountUsd"`
	AssetSymbol    string         `json:"assetSymbol"`
	Source         string         `json:"source,omitempty"`
	Metadata       jsontext.Value `json:"metadata"`
}

type award struct {
	ID    string `json:"id"`
	AppID string `json:"appId"`
	rewardRequest
	Status        string  `json:"status"`
	CreatedAt     string  `json:"createdAt"`
	ExecutedAt    *string `json:"executedAt"`
	FailureReason *string `json:"failureReason"`
}

type rewardAnswer struct {
	Reward           award  `json:"reward"`
	Status           string `json:"status"`
	IdempotentReplay bool   `json:"idempotentReplay"`
}

// Run serves until ctx ends.
func (c *ceilingCommand) Run(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: ceiling(), ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ceiling answers POST /v1/rewards from the body alone, and GET with fixed bodies of the
// service's sizes.
func ceiling() http.Handler {
	one := newAnswer(rewardRequest{
		UserID: sampleID, IdempotencyKey: sampleID, AmountUSD: jsontext.Value("5.25"),
		AssetSymbol: "AAPL", Source: "referral", Metadata: jsontext.Value(sampleMetadata),
	})
	text, err := json.Marshal(one.Reward)
	if err != nil {
		panic(err) // a constant cannot fail
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/rewards", postReward)
	mux.Handle("GET /reward", fixed(`{"reward":`+string(text)+`}`))
	mux.Handle("GET /portfolio", fixed(samplePortfolio()))
	mux.Handle("GET /large", fixed(`{"a":"`+strings.Repeat("x", 200*largeMetadata)+`"}`))
	mux.Handle("GET /list", fixed(`{"rewards":[`+strings.Repeat(string(text)+",", 99)+string(text)+`]}`))
	return mux
}

const (
	sampleID       = "01a1fe66-3332-7000-aab2-552fedd25c44"
	sampleMetadata = `{"campaign":"spring"}`
)

func samplePortfolio() string {
	const holding = `{"asset":"AAPL","quantity":0.02095641,"value":5.25,"costBasis":5.25,"change":"+0.00%"}`
	return `{"value":26.25,"costBasis":26.25,"change":"+0.00%","holdings":[` +
		strings.Repeat(holding+",", 4) + holding + `]}`
}

func fixed(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	})
}

func postReward(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var g rewardRequest
	if err == nil {
		err = json.Unmarshal(body, &g)
	}
	if err != nil {
		http.Error(w, fmt.Sprint(err), http.StatusBadRequest)
		return
	}
	answer, err := json.Marshal(newAnswer(g))
	if err != nil {
		http.Error(w, fmt.Sprint(err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(answer)
}

func newAnswer(g rewardRequest) rewardAnswer {
	return rewardAnswer{Status: "recorded", Reward: award{
		ID: sampleID, AppID: sampleID, rewardRequest: g, Status: "recorded", CreatedAt: "2026-11-21T16:38:18.123Z",
	}}
}
