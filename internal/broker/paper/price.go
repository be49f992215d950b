package paper

import (
	"math/bits"
	"time"

	"stockrewards/internal/money"
)

// The model: a stock's price is its reference price times five factors, one for
// each of these layers. A factor wanders between 1-amplitude and 1+amplitude: at
// multiples of its period it has a value that a hash picks, and in between it
// moves in a straight line. So a price is a pure function of the seed, the symbol
// and the second, is found in constant time, and can't run away.
//
// From one day to the next a price moves by one percent or so, and by less than
// 5 % always: at most 2 x 16 per mille in the layer of days, 2 x 3 in that of
// hours, 2 x 0.5 in that of minutes, and little in the slow ones.
type layer struct {
	period    int64 // seconds
	amplitude int64 // billionths
}

func layers() [5]layer {
	return [5]layer{
		{365 * 86_400, 200_000_000},
		{30 * 86_400, 80_000_000},
		{86_400, 16_000_000},
		{3_600, 3_000_000},
		{60, 500_000},
	}
}

const (
	one             = 1_000_000_000 // a factor of 1, in billionths
	calmShare       = 8             // one stock in eight is a calm one
	calmScale       = 350           // per mille of the amplitudes, for a calm stock
	leastScale      = 750           // per mille, the least of the others; the most is 1,000
	cent            = money.Price(10_000_000)
	tenthOfMil      = money.Price(100_000) // $0.0001, the step of prices under a dollar
	dollar          = money.Price(1_000_000_000)
	saltScale       = 0x5ca1e
	saltPhase       = 0x9a5e
	goldenIncrement = 0x9e37_79b9_7f4a_7c15
)

// walk is the model of one stock's price.
type walk struct {
	reference money.Price
	layers    [5]wave
}

// wave is a layer as one stock has it.
type wave struct {
	layer
	key   uint64 // what the hashes of this stock and layer start from
	phase int64  // seconds by which its lattice is shifted, so that stocks don't turn together
}

func newWalk(seed uint64, symbol string, reference money.Price) walk {
	key := mix(seed)
	for _, c := range []byte(symbol) {
		key = mix(key ^ uint64(c))
	}
	scale := leastScale + signed(mix(key^saltScale)>>1)%(1_000-leastScale+1)
	if mix(key)%calmShare == 0 {
		scale = calmScale
	}
	w := walk{reference: reference}
	for i, l := range layers() {
		k := mix(key + unsigned(l.period))
		w.layers[i] = wave{
			layer: layer{period: l.period, amplitude: l.amplitude / 1_000 * scale},
			key:   k,
			phase: signed(mix(k^saltPhase)>>1) % l.period,
		}
	}
	return w
}

// at is the price at the instant, in whole cents from a dollar up and in steps of
// $0.0001 below, never zero.
func (w *walk) at(t time.Time) money.Price {
	second := t.Unix()
	price := int64(w.reference)
	for i := range w.layers {
		price = scaled(price, w.layers[i].factor(second))
	}
	return tick(money.Price(price))
}

// factor is the layer's factor in billionths.
func (w *wave) factor(second int64) int64 {
	second += w.phase
	step := floorDiv(second, w.period)
	into := second - step*w.period
	from, to := w.lattice(step), w.lattice(step+1)
	return one + (from*(w.period-into)+to*into)/w.period
}

// lattice is the layer's value at a multiple of its period, evenly spread over
// -amplitude to amplitude.
func (w *wave) lattice(step int64) int64 {
	hi, _ := bits.Mul64(mix(w.key^unsigned(step)), unsigned(2*w.amplitude+1))
	return signed(hi) - w.amplitude
}

// scaled is price x factor / one. It can't overflow: the catalog's prices have a
// limit, and all factors together stay below two.
func scaled(price, factor int64) int64 {
	n, err := money.MulDiv(price, factor, one, money.Down)
	if err != nil {
		return price
	}
	return n
}

// tick rounds a price down to the market's step, and up from zero to one step.
func tick(p money.Price) money.Price {
	if p >= dollar {
		return p / cent * cent
	}
	return max(p/tenthOfMil*tenthOfMil, tenthOfMil)
}

// mix is the finaliser of SplitMix64: every bit of the result hangs on every bit
// of the argument.
func mix(x uint64) uint64 {
	x += goldenIncrement
	x = (x ^ x>>30) * 0xbf58_476d_1ce4_e5b9
	x = (x ^ x>>27) * 0x94d0_49bb_1331_11eb
	return x ^ x>>31
}

// unsigned and signed are the same 64 bits as the other type.
func unsigned(n int64) uint64 { return uint64(n) } // a negative number's bits are as good

func signed(n uint64) int64 { return int64(n) } // it is small, or a seed that is kept as bits

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
