package order

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// The bounds of requests and answers.
const (
	MaxItems = 100
	MaxNum   = math.MaxInt32
	MaxKey   = 255
	// MaxPageItems bounds the items of a page of orders. One order always fits.
	MaxPageItems = 10 * MaxItems
	// MaxTotal is the highest total of an order: 2^53-1, which every JSON reader holds exactly.
	MaxTotal = 1<<53 - 1
)

// What a request can be refused for; match with errors.Is.
var (
	ErrInvalidItems   = errors.New("an order has 1 to 100 items")
	ErrInvalidNum     = errors.New("num must be a whole number from 1 to 2147483647")
	ErrInvalidGoodsID = errors.New("goods_id must be a whole number from 1 to 9223372036854775807, in decimal without leading zeros")
	ErrDuplicateGoods = errors.New("the same goods twice in one order")
	ErrTotalOverflow  = errors.New("the order's total is above 9007199254740991")
	ErrInvalidKey     = errors.New("an idempotency key has 1 to 255 visible ASCII characters")
)

// Request is a client's wish to order, checked. Make one with NewRequest.
type Request struct {
	key   string
	items []Item // by rising goods id, without prices
	hash  [32]byte
}

// NewRequest checks the key, "" for none, and the items, whose prices are
// ignored: prices are the stock service's word. The same goods twice is refused.
func NewRequest(key string, items []Item) (Request, error) {
	if !validKey(key) {
		return Request{}, ErrInvalidKey
	}
	if len(items) == 0 || len(items) > MaxItems {
		return Request{}, fmt.Errorf("%w, not %d", ErrInvalidItems, len(items))
	}
	r := Request{key: key, items: make([]Item, len(items))}
	for i, item := range items {
		switch {
		case item.GoodsID < 1:
			return Request{}, ErrInvalidGoodsID
		case item.Num < 1 || item.Num > MaxNum:
			return Request{}, ErrInvalidNum
		}
		r.items[i] = Item{GoodsID: item.GoodsID, Num: item.Num}
	}
	slices.SortFunc(r.items, func(a, b Item) int {
		if a.GoodsID < b.GoodsID {
			return -1
		}
		return 1
	})
	for i := range r.items[1:] {
		if r.items[i].GoodsID == r.items[i+1].GoodsID {
			return Request{}, fmt.Errorf("%w: goods %d", ErrDuplicateGoods, r.items[i].GoodsID)
		}
	}
	r.hash = hashItems(r.items)
	return r, nil
}

// hashItems returns the SHA-256 of the items in canonical form: two bodies that
// order the same have the same, however they are written.
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
	if len(key) > MaxKey {
		return false
	}
	for _, c := range []byte(key) {
		if c < '!' || c > '~' {
			return false
		}
	}
	return true
}

// ParseGoodsID reads a goods id in its one written form.
func ParseGoodsID(s string) (int64, error) {
	id, err := parseID(s)
	if err != nil {
		return 0, ErrInvalidGoodsID
	}
	return id, nil
}

// ParseID reads an order id in its one written form, or returns ErrInvalidID.
func ParseID(s string) (int64, error) {
	id, err := parseID(s)
	if err != nil {
		return 0, ErrInvalidID
	}
	return id, nil
}

func parseID(s string) (int64, error) {
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, err
	}
	if id < 1 || s[0] == '0' || s[0] == '+' {
		return 0, strconv.ErrSyntax
	}
	return id, nil
}

// total returns the sum of price times quantity, or ErrTotalOverflow if it is above MaxTotal.
func total(items []Item) (int64, error) {
	var sum int64
	for _, item := range items {
		if item.Price > 0 && item.Num > (MaxTotal-sum)/item.Price {
			return 0, ErrTotalOverflow
		}
		sum += item.Price * item.Num
	}
	return sum, nil
}
