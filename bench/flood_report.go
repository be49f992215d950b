package main

import (
	"fmt"
	"strings"
	"time"
)

// The limits of a neighbour's median latency under a flood: it must stay within one of them.
const (
	mostOfIdle    = 3.0 // times its own without a flood
	mostOfCeiling = 1.5 // times the bare server's under the same flood
)

// medianLatencies returns a target's medians over all rounds of a kind of flood, and its
// peak memory.
func medianLatencies(all []floodResult, target, kind string) (m latencies, memory int64) {
	var posts, gets []time.Duration
	for _, r := range all {
		if r.target == target && r.kind == kind {
			posts, gets, memory = append(posts, r.post), append(gets, r.get), max(memory, r.memory)
		}
	}
	return latencies{spreadOf(posts).Median, spreadOf(gets).Median}, memory
}

func writeFlood(b *strings.Builder, all []floodResult, engines []string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\nMedian latency of an app with one connection while another app floods with %d. Goal: "+
		"at most %.0f times its own without the flood, or %.1f times the bare server's under the same flood, "+
		"whichever is larger.\n\n| another app is | request | bare server | target | alone | flooded | times alone "+
		"| times bare | peak memory | |\n"+
		"|---|---|---|---|---|---|---|---|---|---|\n", floodConnections, mostOfIdle, mostOfCeiling)
	for _, kind := range floodKinds() {
		bare, _ := medianLatencies(all, nameCeiling, kind)
		for _, engine := range engines {
			idle, _ := medianLatencies(all, engine, "")
			flooded, memory := medianLatencies(all, engine, kind)
			for _, one := range []struct {
				request             string
				bare, idle, flooded time.Duration
			}{{"POST", bare.post, idle.post, flooded.post}, {"GET", bare.get, idle.get, flooded.get}} {
				ofIdle, ofBare := one.flooded.Seconds()/one.idle.Seconds(), one.flooded.Seconds()/one.bare.Seconds()
				verdict := "too much"
				if ofIdle <= mostOfIdle || ofBare <= mostOfCeiling {
					verdict = "within"
				}
				fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %.2f | %.2f | %d MB | %s |\n", kind, one.request,
					short(one.bare), engine, short(one.idle), short(one.flooded), ofIdle, ofBare, memory>>20, verdict)
			}
		}
	}
}
