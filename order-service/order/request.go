package order

import (
	"crypto/sha256"
	"errors"
	"strconv"

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

// The reasons to refuse a request, in addition to the rules of package operation; match them with errors.Is.
var (
	ErrTotalOverflow = errors.New("the order's total is above 9007199254740991")
	ErrInvalidKey    = errors.New("an idempotency key has 1 to 255 visible ASCII characters")
)

// Request is a validated request for an order. Make one with NewRequest.
type Request struct {
	key   string
	items []Item // by ascending goods id, without prices
	hash  [32]byte
}

// NewRequest validates the key, "" for none, and the items. It ignores their prices: the stock service sets those. It
// returns ErrInvalidKey, or the error of package operation for the rule that the items break.
func NewRequest(key string, items []Item) (Request, error) {
	if !validKey(key) {
		return Request{}, ErrInvalidKey
	}
	unpriced := make([]operation.Item, len(items))
	for i, item := range items {
		unpriced[i] = operation.Item{GoodsID: item.GoodsID, Num: item.Num}
	}
	unpriced, err := operation.NewItems(unpriced)
	if err != nil {
		return Request{}, err
	}
	r := Request{key: key, items: make([]Item, len(unpriced))}
	for i, item := range unpriced {
		r.items[i] = Item{GoodsID: item.GoodsID, Num: item.Num}
	}
	r.hash = hashItems(r.items)
	return r, nil
}

// hashItems returns the SHA-256 of the items in canonical form: two bodies that order the same items have the same
// hash, however they are written.
func hashItems(items []Item) [32]byte {
	text := make([]byte, 0, 32*len(items))
	for _, item := range items {
		text = strconv.AppendInt(text, item.GoodsID, 10)
		text = append(text, ':')
		text = strconv.AppendInt(text, item.Num, 10)
		text = append(text, ',')
	}
	return sha256.Sum256(text)
}

func validKey(key string) bool {
	if len(key) > maxKey {
		return false
	}
	for _, c := range []byte(key) {
		if c < '!' || c > '~' {
			return false
		}
	}
	return true
}

// ParseID reads an order id: decimal, at least 1, without leading zeros or a sign.
// It returns ErrInvalidID for anything else.
func ParseID(s string) (int64, error) {
	id, ok := operation.ParseID(s)
	if !ok {
		return 0, ErrInvalidID
	}
	return id, nil
}

// total returns the sum of price times quantity, or ErrTotalOverflow if it is above maxTotal.
func total(items []Item) (int64, error) {
	var sum int64
	for _, item := range items {
		if item.Price > 0 && item.Num > (maxTotal-sum)/item.Price {
			return 0, ErrTotalOverflow
		}
		sum += item.Price * item.Num
	}
	return sum, nil
}
