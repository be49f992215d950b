package main

import (
	"cmp"
	"slices"
)

// spread is the median of values and how far they lie apart.
type spread[T cmp.Ordered] struct{ Median, Least, Most T }

// spreadOf sums values up; of an even number the lower middle one is the median.
func spreadOf[T cmp.Ordered](values []T) spread[T] {
	if len(values) == 0 {
		return spread[T]{}
	}
	sorted := slices.Sorted(slices.Values(values))
	return spread[T]{Median: percentile(sorted, 0.5), Least: sorted[0], Most: sorted[len(sorted)-1]}
}

// percentile is the smallest of sorted values that the share of them does not exceed.
func percentile[T any](sorted []T, share float64) T {
	var none T
	if len(sorted) == 0 {
		return none
	}
	i := int(share*float64(len(sorted)) + 0.999999)
	return sorted[min(max(i, 1), len(sorted))-1]
}

// slope is how much values, taken at equal steps, grow a step: least squares.
func slope(values []float64) float64 {
	n := float64(len(values))
	var sumX, sumY, sumXY, sumXX float64
	for i, y := range values {
		x := float64(i)
		sumX, sumY, sumXY, sumXX = sumX+x, sumY+y, sumXY+x*y, sumXX+x*x
	}
	below := n*sumXX - sumX*sumX
	if below == 0 {
		return 0
	}
	return (n*sumXY - sumX*sumY) / below
}
