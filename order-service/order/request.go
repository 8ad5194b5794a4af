package order

import (
	"crypto/sha256"
	"strings"

	"orderstock/pkg/operation"
)

// The bounds of requests and answers.
const (
	// maxKey is the maximum length of an idempotency key, in bytes.
	maxKey = 255
	// MaxPageItems bounds the items of a page of orders. One order always fits.
	MaxPageItems = 10 * operation.MaxItems
	// maxTotal is the maximum total of an order: 2^53-1, which every JSON reader holds exactly.
	maxTotal = 1<<53 - 1
)

// Request is a validated request for an order. Make one with NewRequest.
type Request struct {
	key   string
	items []operation.Item // by ascending goods id
	hash  string
}

// NewRequest validates the key, "" for none, and the items. It returns ErrInvalidKey, or the error of
// operation.NewItems.
func NewRequest(key string, items []operation.Item) (Request, error) {
	if !validKey(key) {
		return Request{}, ErrInvalidKey
	}
	items, err := operation.NewItems(items)
	if err != nil {
		return Request{}, err
	}
	return Request{key, items, hashItems(items)}, nil
}

// hashItems returns the SHA-256 of the items in canonical form: two bodies that order the same items have the same
// hash, however they are written. Stored hashes have the comma at the end.
func hashItems(items []operation.Item) string {
	sum := sha256.Sum256([]byte(operation.EncodeItems(items) + ","))
	return string(sum[:])
}

func validKey(key string) bool {
	return len(key) <= maxKey && !strings.ContainsFunc(key, func(c rune) bool { return c < '!' || c > '~' })
}

// total returns the sum of price times quantity, or ErrTotalOverflow if it is above maxTotal.
func total(items []operation.Item, prices []int64) (int64, error) {
	var sum int64
	for i, item := range items {
		if prices[i] > 0 && item.Num > (maxTotal-sum)/prices[i] {
			return 0, ErrTotalOverflow
		}
		sum += prices[i] * item.Num
	}
	return sum, nil
}
