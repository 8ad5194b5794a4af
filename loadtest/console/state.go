package console

import (
	"time"
)

// The sections of the state. A section that changes is sent to the page as a whole.
const (
	secMode     = "mode"
	secCan      = "can"
	secPhase    = "phase"
	secDoing    = "doing"
	secRun      = "run"
	secHero     = "hero"
	secCompare  = "compare"
	secReplicas = "replicas"
	secServers  = "servers"
	secEdges    = "edges"
	secFaults   = "faults"
	secBooks    = "books"
	secStatuses = "statuses"
	secCommits  = "commits"
	secLock     = "lock"
	secExpired  = "sessions_expired"
	secVerdict  = "verdict"
	secRuns     = "runs"
	secRecent   = "recent"
)

// The phases of a run.
const (
	phaseStarting = "starting"
	phaseIdle     = "idle"
	phaseFiring   = "firing"
	phaseSettling = "settling"
	phaseJudging  = "judging"
)

// Can has, for each kind of action, the reason why it is impossible; "" if it is possible.
type Can struct {
	Play  string `json:"play"`
	Break string `json:"break"`
	Fire  string `json:"fire"`
	// Flags is the reason why the set and taken flags in Redis are not counted.
	Flags string `json:"flags"`
}

// Run is the current run, or the last one.
type Run struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Fault    string `json:"fault"`   // a letter, or ""
	Variant  string `json:"variant"` // Broken, Fixed or ""
	Says     string `json:"says"`    // the variant, if it is not the fault alone or the product as it ships
	Strategy string `json:"strategy"`
	Seed     string `json:"seed"`
	Attempt  int    `json:"attempt"`
	Attempts int    `json:"attempts"`
	Orders   int    `json:"orders"`
	Buyers   int    `json:"buyers"`
	Goods    int    `json:"goods"`
	// Stock is the number of pieces of all goods together.
	Stock     int64     `json:"stock"`
	StartedAt time.Time `json:"started_at"`
	ElapsedMS int64     `json:"elapsed_ms"`
	// Command is the command line of the same run.
	Command string `json:"command"`
}

// Hero is the sentence at the top of the page.
type Hero struct {
	Sold     int64  `json:"sold"`
	Stock    int64  `json:"stock"`
	Sentence string `json:"sentence"`
	Word     string `json:"word"`
}

// The words of a Hero that are no outcome of a verdict.
const (
	wordRunning   = "RUNNING"
	wordNotCaught = "NOT CAUGHT THIS TIME"
	wordNotJudged = "NOT JUDGED" // it ended before there was something to judge
)

// Compare sets the rates of the broken and the fixed variant side by side.
type Compare struct {
	What       string  `json:"what"`
	Broken     float64 `json:"broken"`
	Fixed      float64 `json:"fixed"`
	BrokenSays string  `json:"broken_says"`
	FixedSays  string  `json:"fixed_says"`
}

// Member is a replica or a server.
type Member struct {
	Name  string `json:"name"`
	Kind  string `json:"kind,omitempty"` // "order" or "stock"; "" for a server
	State string `json:"state"`
	Says  string `json:"says"`
	Ops   string `json:"ops,omitempty"`
}

// The states of a Member.
const (
	stateReady    = "ready"
	stateStarting = "starting"
	stateNotReady = "not ready"
	statePaused   = "paused"
	stateDead     = "dead"
)

// Books are the levels of the run's goods and the sums of their ledger entries.
type Books struct {
	Rows []BookRow `json:"rows"` // at most mostRows, disagreeing ones first
	// Products counts all products. Sold is the larger of the pieces that left the shelf for good and the
	// acknowledged ones, and Stock the pieces that came in, of all products.
	Products int   `json:"products"`
	Sold     int64 `json:"sold"`
	Stock    int64 `json:"stock"`
	// Scope says which products these are, such as "the newest 10 of 200 products"; "" if they are all of a run or of
	// the stack.
	Scope string `json:"scope"`
	// Heard is set if this console fired the orders, and so knows the answers.
	Heard bool `json:"heard"`

	Wrong  string    `json:"wrong"` // the first disagreement in words; "" if there is none
	ReadAt time.Time `json:"read_at"`
}

// BookRow is one product.
type BookRow struct {
	Goods string `json:"goods"`
	Name  string `json:"name"`
	In    int64  `json:"in"`
	Out   int64  `json:"out"`
	Back  int64  `json:"back"`
	There int64  `json:"there"`
	// Sold is the number of acknowledged pieces.
	Sold  int64  `json:"told"`
	Wrong string `json:"wrong"`
}

// Commits is the number of MySQL's transactions per second, and of orders in each.
type Commits struct {
	PerS            float64 `json:"per_s"`
	OrdersPerCommit float64 `json:"orders_per_commit"`
}

// Lock is the queue for a lock in ZooKeeper.
type Lock struct {
	Path    string      `json:"path"`
	Holders []Contender `json:"holders"`
	Waiters []Contender `json:"waiters"` // the first ten
	Waiting int         `json:"waiting"` // how many wait in ZooKeeper
	// Local is the number of requests waiting inside the stock services, behind a node here or for their group.
	Local int `json:"local"`
	// Unlocked is the number of groups since the run began that did not wait for a stuck holder.
	Unlocked int    `json:"unlocked"`
	Says     string `json:"says"` // why there is no queue, if Path is ""
}

// Contender is a node in a lock's queue.
type Contender struct {
	Node    string `json:"node"`
	Mode    string `json:"mode"`
	Token   string `json:"token"`
	SinceMS int64  `json:"since_ms"` // its age by ZooKeeper's clock
	Owner   string `json:"owner"`
	Session string `json:"session"`
}

// Sample sums up the calls of one interval.
type Sample struct {
	TMS        int64   `json:"t_ms"`
	OrdersPerS float64 `json:"orders_per_s"`
	Confirmed  float64 `json:"confirmed_per_s"`
	Rejected   float64 `json:"rejected_per_s"`
	Failed     float64 `json:"failed_per_s"`
	// P50MS and P99MS are absent if no order was answered in the interval, or if another process fires.
	P50MS float64 `json:"p50_ms,omitzero"`
	P99MS float64 `json:"p99_ms,omitzero"`
}

// Entry is a line of the log of events.
type Entry struct {
	At   time.Time `json:"at"`
	TMS  int64     `json:"t_ms"`
	Kind string    `json:"kind"` // run, fault, books, verdict or error
	Text string    `json:"text"`
}
