package main

import "regexp"

// benchCase is one kind of request at a number of connections.
type benchCase struct {
	name        string
	mode        string // of load.lua
	file        string // input of load.lua
	connections int
	status      string // expected of every answer
}

// The cases of goals.
const (
	caseAlone     = "record, 1 connection"
	caseRecord    = "record, 64 connections"
	caseBatch     = "record batches of 1,000, 2 connections"
	casePortfolio = "portfolio, 64 connections"
)

// growthCases are what a store must do as fast as when it was empty.
func growthCases() []benchCase {
	return []benchCase{
		{"record", modeNew, fileUsers, 64, "201"},
		{"replay", modeReplay, fileBodies, 64, "200"},
		{"list", modeGet, fileList, 64, "200"},
		{"list of a user", modeGet, fileListUser, 64, "200"},
		{"portfolio", modeGet, filePortfolio, 64, "200"},
	}
}

// cases are all cases. The bare server gets the same requests, but new rewards in place of
// replays and batches, which it does not have. Of batches every award counts as a request.
func cases() []benchCase {
	return []benchCase{
		{caseAlone, modeNew, fileUsers, 1, "201"},
		{caseRecord, modeNew, fileUsers, 64, "201"},
		{caseBatch, modeBatch, fileUsers, 2, "200"},
		{"record, 256 connections", modeNew, fileUsers, 256, "201"},
		{"replay, 64 connections", modeReplay, fileBodies, 64, "200"},
		{casePortfolio, modeGet, filePortfolio, 64, "200"},
		{"reward, 64 connections", modeGet, fileReward, 64, "200"},
		{"list of 100, 64 connections", modeGet, fileList, 64, "200"},
		{"list of 100 of a user, 64 connections", modeGet, fileListUser, 64, "200"},
	}
}

// The parts of a run besides the cases.
const (
	partEndToEnd = "end to end"
	partOverload = "overload"
	partFlood    = "flood"
	partEvents   = "events"
	partGrowth   = "growth"
)

func chosen(only *regexp.Regexp) []benchCase {
	var list []benchCase
	for _, c := range cases() {
		if only.MatchString(c.name) {
			list = append(list, c)
		}
	}
	return list
}

func (c benchCase) forCeiling() benchCase {
	switch c.mode {
	case modeReplay:
		c.mode, c.file = modeNew, fileUsers
	case modeBatch:
		c.mode, c.connections = modeNew, 64
	}
	return c
}
