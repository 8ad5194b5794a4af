package console

// Can has, for each kind of action, the reason why it is impossible; "" if it is possible.
type Can struct {
	Play  string `json:"play"`
	Break string `json:"break"`
	// Flags is the reason why the set and taken flags in Redis are not counted.
	Flags string `json:"flags"`
}

// Member is a replica or a server.
type Member struct {
	Name  string `json:"name"`
	Kind  string `json:"kind,omitempty"` // "order" or "stock"; "" for a server
	State string `json:"state"`
	Says  string `json:"says"`
}

// The states of a Member.
const (
	stateReady    = "ready"
	stateStarting = "starting"
	stateNotReady = "not ready"
	statePaused   = "paused"
	stateDead     = "dead"
)

// Recent is a traced order.
type Recent struct {
	OrderID string `json:"order_id"`
	// Status is the status of its row or, of a deduction without an order, the state of its operation.
	Status string `json:"status"`
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
