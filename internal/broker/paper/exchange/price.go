package exchange

import (
	"math/bits"
	"time"

	"stockrewards/internal/broker/paper/random"
	"stockrewards/internal/money"
)

// layer is one factor of the price model. A price is the reference price times the
// factors of all layers. A factor stays between 1-amplitude and 1+amplitude: a hash
// picks its value at each multiple of the period, and it moves in a straight line in
// between. So a price is a pure function of seed, symbol and second, takes constant
// time, and stays near the reference.
//
// A price moves by about one percent a day and always by less than 5 %: at most
// 2 x 16 per mille in the layer of days, 2 x 3 in that of hours, 2 x 0.5 in that of
// minutes, and little in the slow ones.
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
	one        = 1_000_000_000 // a factor of 1, in billionths
	calmShare  = 8             // one stock in eight is calm
	calmScale  = 350           // per mille of the amplitudes, for a calm stock
	leastScale = 750           // per mille, the least of the others; the most is 1,000
	saltScale  = 0x5ca1e
	saltPhase  = 0x9a5e

	dollar     money.Price = 1_000_000_000
	cent                   = dollar / 100
	tenthOfMil             = dollar / 10_000
)

type model struct {
	symbol    string
	reference money.Price
	waves     [5]wave
}

// wave is a layer of one stock.
type wave struct {
	layer

	key   uint64 // seeds the hashes of this stock and layer
	phase int64  // seconds; shifts the turning points, so that stocks do not turn together
}

func newModel(seed uint64, symbol string, reference money.Price) model {
	key := random.Hash(seed, symbol)
	scale := leastScale + int64(random.Mix(key^saltScale)>>1)%(1_000-leastScale+1)
	if random.Mix(key)%calmShare == 0 {
		scale = calmScale
	}
	m := model{symbol: symbol, reference: reference}
	for i, l := range layers() {
		k := random.Mix(key + uint64(l.period))
		m.waves[i] = wave{
			layer: layer{period: l.period, amplitude: l.amplitude / 1_000 * scale},
			key:   k,
			phase: int64(random.Mix(k^saltPhase)>>1) % l.period,
		}
	}
	return m
}

// price returns the price at an instant, a positive multiple of its tick. Its products
// fit: the reference is at most MaxPrice and all factors together stay below two.
func (m *model) price(t time.Time) money.Price {
	price := int64(m.reference)
	for i := range m.waves {
		if n, err := money.MulDiv(price, m.waves[i].factor(t.Unix()), one, money.Down); err == nil {
			price = n
		}
	}
	return ticked(money.Price(price))
}

// factor returns the layer's factor in billionths.
func (w *wave) factor(second int64) int64 {
	second += w.phase
	into := (second%w.period + w.period) % w.period // also before 1970
	step := (second - into) / w.period
	return one + (w.turn(step)*(w.period-into)+w.turn(step+1)*into)/w.period
}

// turn returns the layer's value at a multiple of its period, evenly distributed from
// -amplitude to amplitude.
func (w *wave) turn(step int64) int64 {
	hi, _ := bits.Mul64(random.Mix(w.key^uint64(step)), uint64(2*w.amplitude+1))
	return int64(hi) - w.amplitude
}

// Tick returns the step in which a price moves: a cent, and $0.0001 under a dollar.
func Tick(p money.Price) money.Price {
	if p >= dollar {
		return cent
	}
	return tenthOfMil
}

// MinPrice is the lowest price of a trade.
const MinPrice = tenthOfMil

// ticked rounds a price down to its tick, but not to zero.
func ticked(p money.Price) money.Price { return max(p/Tick(p)*Tick(p), MinPrice) }
