package console

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/act"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
	"orderstock/stock-service/deduct/strategy"
)

// Scenario is a load and the faults that strike during it. A zero field means the default of package fire, except 12
// for TimeoutS, 20 for SettleS and 0.01 for TraceSample.
type Scenario struct {
	Path        string  `json:"path"`
	Strategy    string  `json:"strategy"`
	Orders      int     `json:"orders"`
	DurationS   float64 `json:"duration_s"`
	WarmupS     float64 `json:"warmup_s"`
	Rate        float64 `json:"rate"`
	Concurrency int     `json:"concurrency"`
	Goods       int     `json:"goods"`
	Stock       int64   `json:"stock"`
	ItemsMax    int     `json:"items_max"`
	NumMax      int     `json:"num_max"`
	Zipf        float64 `json:"zipf"`
	Repeat      float64 `json:"repeat"`
	Cancel      float64 `json:"cancel"`
	TimeoutS    float64 `json:"timeout_s"` // of each call
	// SettleS is how many seconds after the last answer orders may take to finish before they count as hanging.
	SettleS float64 `json:"settle_s"`
	// TraceSample is the share of the orders that are traced.
	TraceSample float64 `json:"trace_sample"`
	// Seed is a decimal number as text, since a JavaScript number does not hold 64 bits.
	Seed   string       `json:"seed"`
	Faults []act.Action `json:"faults"`
}

// The limits of a scenario. The load comes from the same machine as the page.
const (
	mostOrders   = 200_000
	mostClients  = 2_000
	mostDuration = 10 * 60 // seconds
	mostTimeout  = 60      // seconds
	mostSettle   = 5 * 60  // seconds
	mostRate     = 100_000
	mostGoods    = 1_000            // the page has a row for each
	mostStock    = operation.MaxNum // of one restock
	mostItems    = 100
	mostPieces   = 1_000_000
	mostZipf     = 10
)

// ScenarioOf returns the load of a configuration as a scenario without faults.
func ScenarioOf(cfg fire.Config) Scenario {
	s := Scenario{
		Path: string(cfg.Path), Orders: cfg.Orders, DurationS: cfg.Duration.Seconds(), WarmupS: cfg.Warmup.Seconds(),
		Rate: cfg.Rate, Concurrency: cfg.Concurrency, Goods: cfg.Mix.Goods, Stock: cfg.Mix.Stock,
		ItemsMax: cfg.Mix.ItemsMax, NumMax: cfg.Mix.NumMax, Zipf: cfg.Mix.Zipf,
		Repeat: cfg.Mix.Repeat, Cancel: cfg.Mix.Cancel, TimeoutS: cfg.Timeout.Seconds(),
	}
	if cfg.Mix.Seed != 0 {
		s.Seed = strconv.FormatUint(cfg.Mix.Seed, 10)
	}
	return s
}

// number is a field of a Scenario: its name, the flag of it and the flag's unit, its value, and the highest one.
type number struct {
	name, flag, unit string
	value, most      float64
}

func (s Scenario) numbers() []number {
	return []number{
		{"orders", "orders", "", float64(s.Orders), mostOrders},
		{"duration_s", "duration", "s", s.DurationS, mostDuration},
		{"warmup_s", "warmup", "s", s.WarmupS, mostDuration},
		{"rate", "rate", "", s.Rate, mostRate},
		{"concurrency", "concurrency", "", float64(s.Concurrency), mostClients},
		{"goods", "goods", "", float64(s.Goods), mostGoods},
		{"stock", "stock", "", float64(s.Stock), mostStock},
		{"items_max", "items-max", "", float64(s.ItemsMax), mostItems},
		{"num_max", "num-max", "", float64(s.NumMax), mostPieces},
		{"zipf", "zipf", "", s.Zipf, mostZipf},
		{"repeat", "repeat", "", s.Repeat, 1},
		{"cancel", "cancel", "", s.Cancel, 1},
		{"timeout_s", "timeout", "s", s.TimeoutS, mostTimeout},
		{"settle_s", "settle", "s", s.SettleS, mostSettle},
		{"trace_sample", "", "", s.TraceSample, 1}, // for fire alone: nobody receives the spans of run
	}
}

// Validate returns an error that names the first invalid field and its valid values.
func (s Scenario) Validate() error {
	if s.Path != "" && s.Path != string(history.PathOrder) && s.Path != string(history.PathDeduct) {
		return invalid("path %q: want order or deduct", s.Path)
	}
	for _, f := range s.numbers() {
		if f.value < 0 || f.value > f.most || math.IsNaN(f.value) {
			return invalid("%s %v: want 0 to %.0f", f.name, f.value, f.most)
		}
	}
	if s.Rate > 0 && s.Rate < fire.LeastRate {
		return invalid("rate %v: want 0, or %v to %d", s.Rate, fire.LeastRate, mostRate)
	}
	if s.DurationS > 0 && s.WarmupS >= s.DurationS {
		return invalid("warmup_s %g: want less than duration_s, %g", s.WarmupS, s.DurationS)
	}
	if _, err := s.seed(); err != nil {
		return err
	}
	if s.Strategy != "" {
		if _, err := strategy.Find(s.Strategy); err != nil {
			return invalid("%v", err)
		}
	}
	for _, f := range s.Faults {
		if err := f.Known(); err != nil {
			return err
		}
		if f.AfterMS < 0 || f.AfterMS > 1000*mostDuration {
			return invalid("after_ms %d of fault %s: want 0 to %d", f.AfterMS, f.Action, 1000*mostDuration)
		}
	}
	return nil
}

func (s Scenario) seed() (uint64, error) {
	if s.Seed == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s.Seed, 10, 64)
	if err != nil {
		return 0, invalid("seed %q: want a number from 0 to 2^64-1", s.Seed)
	}
	return n, nil
}

// timeout returns the timeout of each call.
func (s Scenario) timeout() time.Duration { return cmp.Or(seconds(s.TimeoutS), 12*time.Second) }

// settle returns how long orders may take to finish before they count as hanging.
func (s Scenario) settle() time.Duration { return cmp.Or(seconds(s.SettleS), 20*time.Second) }

// traced returns the share of the orders that are traced.
func (s Scenario) traced() float64 { return cmp.Or(s.TraceSample, 0.01) }

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// config returns the scenario as a configuration of package fire.
func (s Scenario) config(target fire.Target) fire.Config {
	seed, _ := s.seed() // validated
	return fire.Config{
		Target: target, Path: history.Path(s.Path), Orders: s.Orders,
		Duration: seconds(s.DurationS), Warmup: seconds(s.WarmupS),
		Rate: s.Rate, Concurrency: s.Concurrency, Timeout: s.timeout(),
		Mix: fire.Mix{
			Goods: s.Goods, Stock: s.Stock, ItemsMax: s.ItemsMax, NumMax: s.NumMax, Zipf: s.Zipf,
			Repeat: s.Repeat, Cancel: s.Cancel, Seed: seed,
		},
	}
}

// flags returns the scenario as flags of "loadtest fire" or, with its strategy and faults, of "loadtest run".
func (s Scenario) flags() string {
	var b strings.Builder
	if s.Path != "" && s.Path != string(history.PathOrder) {
		b.WriteString(" --path " + s.Path)
	}
	s.TimeoutS = s.timeout().Seconds()
	for _, f := range s.numbers() {
		if f.flag != "" && (f.value > 0 || f.flag == "repeat") { // the commands' default of repeat is not 0
			b.WriteString(" --" + f.flag + " " + strconv.FormatFloat(f.value, 'f', -1, 64) + f.unit)
		}
	}
	for _, f := range []struct{ flag, value string }{{"seed", s.Seed}, {"strategy", s.Strategy}} {
		if f.value != "" {
			b.WriteString(" --" + f.flag + " " + f.value)
		}
	}
	for _, f := range s.Faults {
		b.WriteString(" --break '" + f.String() + "'")
	}
	return b.String()
}
