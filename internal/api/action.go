package api

import (
	"cmp"
	"context"
	"encoding/binary"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"stockrewards/internal/rewards"
)

// listActions serves GET /v1/corporate-actions (additions, section 7).
func (s *server) listActions(ctx context.Context, c call) (reply, error) {
	q := c.query("assetSymbol", "status")
	filter := rewards.ActionFilter{Symbol: q.symbol("assetSymbol"), States: q.actionStates("status")}
	return listing[rewards.Action]{
		name: "corporateActions",
		read: func(place []byte, limit int) ([]rewards.Action, error) {
			return s.Service.Actions(ctx, c.app, filter, rewards.ActionPage{Before: actionPlace(place), Limit: limit})
		},
		place: func(a rewards.Action) []byte {
			return append(binary.BigEndian.AppendUint64(nil, uint64(a.FirstSeen.UnixMicro())), a.ID...)
		},
		append: appendAction,
	}.reply(s, c, q)
}

// actionPlace reads an action's place in a cursor: when it was first seen, in microseconds, and its id.
func actionPlace(place []byte) (p rewards.ActionPlace) {
	const stamp = 8
	if len(place) > stamp {
		p.FirstSeen = time.UnixMicro(int64(binary.BigEndian.Uint64(place)))
		p.ID = string(place[stamp:])
	}
	return p
}

// symbol reads an optional symbol.
func (q *query) symbol(name string) string {
	value := q.string(name)
	if utf8.RuneCountInString(value) > rewards.MaxSymbol {
		q.issue(name, "must have 1 to "+strconv.Itoa(rewards.MaxSymbol)+" characters")
	}
	return rewards.UpperSymbol(value)
}

// actionStates reads an optional status of corporate actions; nil means not given.
func (q *query) actionStates(name string) []rewards.ActionState {
	value, ok := q.one(name)
	if !ok {
		return nil
	}
	states, known := rewards.StatesShown(value)
	if !known {
		q.issue(name, "must be one of announced, applied, held, withdrawn, undone")
	}
	return states
}

const actionParameter = "corporateActionId"

// action reads the corporate action in the path. Its id is the broker's, at Alpaca a UUID. So one that no action of the
// app has is a 404 when it is a UUID, and else a 400.
func (s *server) action(ctx context.Context, c call) (rewards.Action, error) {
	uuid, malformed := pathID[rewards.Action](c, actionParameter)
	id := uuid.String()
	if malformed != nil {
		id = c.parameter
	}
	if !utf8.ValidString(id) || strings.ContainsRune(id, 0) {
		return rewards.Action{}, malformed // no action has it
	}
	a, err := s.Service.Action(ctx, c.app, id)
	if malformed != nil && rewards.CodeOf(err) == rewards.CodeNotFound {
		err = malformed
	}
	return a, err
}

// getAction serves GET /v1/corporate-actions/{corporateActionId} (additions, section 7).
func (s *server) getAction(ctx context.Context, c call) (reply, error) {
	a, err := s.action(ctx, c)
	return single(s, http.StatusOK, "corporateAction", appendAction, a, err)
}

// listEffects serves GET /v1/corporate-actions/{corporateActionId}/effects (additions, section 7).
func (s *server) listEffects(ctx context.Context, c call) (reply, error) {
	q := c.query()
	a, missing := s.action(ctx, c)
	if rewards.CodeOf(missing) == rewards.CodeBadRequest {
		q.issue(actionParameter, rewards.ErrBadID.Error())
	}
	return listing[rewards.ActionEffect]{
		name: "effects",
		read: func(place []byte, limit int) ([]rewards.ActionEffect, error) {
			if missing != nil {
				return nil, missing
			}
			return s.Service.Effects(ctx, c.app, a.ID, rewards.EffectPage{After: effectPlace(place), Limit: limit})
		},
		place: func(e rewards.ActionEffect) []byte {
			return binary.BigEndian.AppendUint64(e.UserID[:], uint64(e.AssetID))
		},
		append: appendEffect,
	}.reply(s, c, q)
}

// effectPlace reads an effect's place in a cursor: its user and its stock.
func effectPlace(place []byte) (p rewards.EffectPlace) {
	if n := copy(p.User[:], place); n < len(place) {
		p.Asset = rewards.AssetID(binary.BigEndian.Uint64(place[n:]))
	}
	return p
}

// appendAction writes a corporate action (additions, section 7).
func appendAction(b []byte, a rewards.Action) []byte {
	rates := a.Shown()
	o := begin(b)
	o.string("id", a.ID)
	o.string("type", string(a.Type))
	o.string("assetSymbol", a.Symbol)
	o.optional("newAssetSymbol", a.NewSymbol)
	o.raw("oldRate", cmp.Or(rates.Old, "null"))
	o.raw("newRate", cmp.Or(rates.New, "null"))
	o.raw("cashRate", cmp.Or(rates.Cash, "null"))
	if a.ExDate.Valid() {
		o.string("exDate", string(a.ExDate))
	} else { // the broker has not said when
		o.raw("exDate", "null")
	}
	o.string("status", a.State.Shown())
	o.optionalTime("appliedAt", a.ShownAt())
	o.optional("note", a.ShownNote())
	return o.end()
}

// appendEffect writes what an action did to a holding (additions, section 7).
func appendEffect(b []byte, e rewards.ActionEffect) []byte {
	o := begin(b)
	o.id("userId", e.UserID.Append)
	o.string("assetSymbol", e.Symbol)
	o.number("quantityBefore", e.Before.Append)
	o.number("quantityAfter", e.After.Append)
	o.number("costBasisBefore", e.BasisBefore.Append)
	o.number("costBasisAfter", e.BasisAfter.Append)
	if e.Shared {
		o.number("amountUsd", e.Cash.Append)
	} else {
		o.raw("amountUsd", "null")
	}
	return o.end()
}
