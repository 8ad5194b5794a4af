package stock

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"orderstock/pkg/operation"
)

// MaxLevel is the maximum level and the maximum price: 2^53-1, which every JSON reader holds exactly.
const MaxLevel = 1<<53 - 1

// validate returns operation.ErrInvalidFlag, ErrInvalidGoodsID, ErrInvalidNum, operation.ErrInvalidName or
// operation.ErrInvalidPrice if the restock breaks a rule.
func validate(r operation.Restock) error {
	switch {
	case !validFlag(r.Flag):
		return operation.ErrInvalidFlag
	case r.GoodsID < 1:
		return operation.ErrInvalidGoodsID
	case r.Num < 1 || r.Num > operation.MaxNum:
		return fmt.Errorf("%w: not %d", operation.ErrInvalidNum, r.Num)
	case r.Name != nil && !validName(*r.Name):
		return operation.ErrInvalidName
	case r.Price != nil && (*r.Price < 0 || *r.Price > MaxLevel):
		return fmt.Errorf("%w: not %d", operation.ErrInvalidPrice, *r.Price)
	}
	return nil
}

// validName reports whether s can be a product's name: at most 100 characters, no control characters, and no U+FFFD,
// the replacement for undecodable bytes.
func validName(s string) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= 100 &&
		!strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError })
}

// validFlag reports whether s can be an operation flag.
func validFlag(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
