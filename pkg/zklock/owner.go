package zklock

import (
	"encoding/json"
	"os"
	"sync"
)

// Owner says who made a node in a lock's queue. It is stored in the node.
type Owner struct {
	Host  string `json:"host,omitempty"`
	PID   int    `json:"pid,omitempty"`
	Label string `json:"label,omitempty"`
	// Leases is how many leases there are, for a semaphore.
	Leases int `json:"leases,omitempty"`
	// Value is what a candidate of an Election stands with.
	Value string `json:"value,omitempty"`
}

var hostname = sync.OnceValue(func() string {
	name, err := os.Hostname()
	if err != nil {
		return "" // for people to read only
	}
	return name
})

func (o Owner) encode() []byte {
	data, err := json.Marshal(o)
	if err != nil {
		return nil // cannot be: strings and numbers
	}
	return data
}

// ownerOf reads a node's data. What another client wrote is shown as a label: Curator, for
// example, writes the host's address.
func ownerOf(data []byte) Owner {
	var o Owner
	if err := json.Unmarshal(data, &o); err != nil {
		return Owner{Label: string(data)}
	}
	return o
}
