package history

import "slices"

// Problem is the stable code of an error in an answer, such as "unavailable".
type Problem uint16

const (
	// NoProblem: the answer has no code.
	NoProblem Problem = iota
	// OtherProblem stands for a code that no call of a run is answered.
	OtherProblem
	Overloaded
	Unavailable
	StockUnavailable
	UnknownOutcome
	Internal
	RateLimited
	OrderRejected
	StockLocked
	Locked
	OrderNotFound
	UnknownGoods
	DuplicateGoods
	InvalidNum
	InvalidKey
	KeyMissing
	KeyReused
	InvalidFlag
	FlagConflict
	Unauthorized
	InvalidItems
	InvalidGoods
	InvalidOrder
	InvalidPage
	InvalidPrice
	InvalidName
	TotalOverflow
	LevelOverflow
	InvalidField
	UnknownField
	MalformedJSON
	UnsupportedMedia

	// Problems is the number of problems.
	Problems
)

var problemNames = [...]string{
	"", "other", "overloaded", "unavailable", "stock_unavailable", "unknown_outcome", "internal", "rate_limited",
	"order_rejected", "stock_locked", "locked", "order_not_found", "unknown_goods", "duplicate_goods", "invalid_num",
	"invalid_idempotency_key", "idempotency_key_missing", "idempotency_key_reused", "invalid_flag", "flag_conflict",
	"unauthorized", "invalid_items", "invalid_goods_id", "invalid_order_id", "invalid_page", "invalid_price",
	"invalid_name", "total_overflow", "level_overflow", "invalid_field", "unknown_field", "malformed_json",
	"unsupported_media_type",
}

func (p Problem) String() string { return problemNames[p] }

// MarshalText and UnmarshalText are for the file.
func (p Problem) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It never fails.
func (p *Problem) UnmarshalText(code []byte) error {
	*p = ParseProblem(string(code))
	return nil
}

// ParseProblem returns the problem with that code, or OtherProblem.
func ParseProblem(code string) Problem {
	if i := slices.Index(problemNames[:], code); i >= 0 {
		return Problem(i)
	}
	return OtherProblem
}

// NothingChanged reports whether the code promises that the call had no effect.
func (p Problem) NothingChanged() bool {
	switch p {
	case Overloaded, Unavailable, StockUnavailable, StockLocked, Locked, RateLimited:
		return true
	}
	return p >= OrderNotFound // refused
}
