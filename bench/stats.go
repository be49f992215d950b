package main

import (
	"cmp"
	"slices"
)

// spread is the median and the range of values.
type spread[T cmp.Ordered] struct{ Median, Least, Most T }

// spreadOf returns the spread of values. The median of an even number is the lower one.
func spreadOf[T cmp.Ordered](values []T) spread[T] {
	if len(values) == 0 {
		return spread[T]{}
	}
	sorted := slices.Sorted(slices.Values(values))
	return spread[T]{Median: percentile(sorted, 0.5), Least: sorted[0], Most: sorted[len(sorted)-1]}
}

// percentile returns the value that a share of the sorted values does not exceed.
func percentile[T any](sorted []T, share float64) (value T) {
	if len(sorted) == 0 {
		return value
	}
	i := int(share*float64(len(sorted)) + 0.999999)
	return sorted[min(max(i, 1), len(sorted))-1]
}

// slope returns how much values at equal steps grow per step, by least squares.
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

// quotient returns a/b.
func quotient[T ~int64](a, b T) float64 { return float64(a) / float64(b) }
