package operation

import "fmt"

// Scope is the reach of a failure. Of two in one error, the higher one counts.
type Scope int

const (
	// Service: nothing changed; the service can do nothing for anybody, for now.
	Service Scope = iota
	// Row: nothing changed; somebody holds a row or a lock that this call needs. Others are served.
	Row
	// Final: nothing changed; a healthy service refuses the call, and would refuse it again.
	Final
	// Unknown: the call may or may not have taken effect. Only the record under its flag shows which.
	Unknown
)

// Code names a failure, and is an error; match it with errors.Is, or find it by CodeOf. The zero Code names none.
type Code struct {
	name, text string
	scope      Scope
}

// NewCode returns the code with that name in the API. The text says for people what is wrong.
func NewCode(name string, scope Scope, text string) Code { return Code{name, text, scope} }

// Error returns the text.
func (c Code) Error() string { return c.text }

// Name returns the stable name in the API.
func (c Code) Name() string { return c.name }

// Scope returns the reach of the failure.
func (c Code) Scope() Scope { return c.scope }

// CodeOf returns the code of the highest scope in the tree of err, the first one if there are several, or the zero
// Code.
func CodeOf(err error) Code {
	var best Code
	if code, ok := err.(Code); ok { //nolint:errorlint // the walk unwraps
		return code
	}
	var causes []error
	switch err := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		causes = []error{err.Unwrap()}
	case interface{ Unwrap() []error }:
		causes = err.Unwrap()
	}
	for _, cause := range causes {
		if code := CodeOf(cause); code != (Code{}) && (best == Code{} || code.scope > best.scope) {
			best = code
		}
	}
	return best
}

// The codes of the stock service.
var (
	ErrUnavailable = NewCode("unavailable", Service, "the stock is not available in time")
	ErrOverloaded  = NewCode("overloaded", Service, "too many operations are waiting")
	// ErrUnauthorized: the service token is missing or wrong.
	ErrUnauthorized = NewCode("unauthorized", Service, "the service token is missing or wrong")
	// ErrStaleToken: a later holder of the lock has already written. In the API it is ErrUnavailable.
	ErrStaleToken = NewCode("unavailable", Service, "fencing token is stale")

	// ErrLocked does not say what is held; a Locked does.
	ErrLocked = NewCode("locked", Row, "held by another transaction")

	ErrFlagConflict   = NewCode("flag_conflict", Final, "the flag is in use for something else")
	ErrUnknownGoods   = NewCode("unknown_goods", Final, "unknown product")
	ErrLevelOverflow  = NewCode("level_overflow", Final, "stock level too high")
	ErrInvalidItems   = NewCode("invalid_items", Final, "the number of items must be from 1 to 100")
	ErrInvalidNum     = NewCode("invalid_num", Final, "a quantity must be a whole number from 1 to 2147483647")
	ErrInvalidGoodsID = NewCode("invalid_goods_id", Final,
		"a goods id must be a whole number from 1 to 9223372036854775807, in decimal without leading zeros")
	ErrDuplicateGoods = NewCode("duplicate_goods", Final, "the same product must not appear twice")
	ErrInvalidFlag    = NewCode("invalid_flag", Final, "a flag must have 1 to 64 letters, digits, dashes or underscores")
	ErrInvalidPrice   = NewCode("invalid_price", Final,
		"a price must be a whole number of minor units from 0 to 9007199254740991")
	ErrInvalidName = NewCode("invalid_name", Final,
		"a name must have at most 100 characters, no control characters and no U+FFFD")
	ErrInvalidPage = NewCode("invalid_page", Final, "invalid page")
	// ErrBooksDisagree: the records under a flag contradict each other, so nothing may be decided by them. It is not in
	// the API.
	ErrBooksDisagree = NewCode("books_disagree", Final, "books disagree")

	// ErrUnknownOutcome: the commit or the request was not answered, and the outcome cannot be read.
	ErrUnknownOutcome = NewCode("unknown_outcome", Unknown, "outcome unknown")
	// ErrInternal: the stock service failed unexpectedly.
	ErrInternal = NewCode("internal", Unknown, "stock service failed")
)

// Codes lists the codes of the API.
var Codes = []Code{
	ErrUnavailable, ErrOverloaded, ErrUnauthorized, ErrLocked, ErrFlagConflict, ErrUnknownGoods, ErrLevelOverflow,
	ErrInvalidItems, ErrInvalidNum, ErrInvalidGoodsID, ErrDuplicateGoods, ErrInvalidFlag, ErrInvalidPrice, ErrInvalidName,
	ErrInvalidPage, ErrUnknownOutcome, ErrInternal,
}

// Locked is an ErrLocked that names the product that is held.
type Locked struct{ GoodsID int64 }

func (l Locked) Error() string { return fmt.Sprintf("product %d is %s", l.GoodsID, ErrLocked) }

// Unwrap returns ErrLocked.
func (Locked) Unwrap() error { return ErrLocked }
