package stock

import "errors"

// What an operation fails with; match with errors.Is.
var (
	// ErrUnavailable: nothing changed, because the lock or the database could not be had in time.
	ErrUnavailable = errors.New("not available in time")
	// ErrOverloaded: nothing changed; too many operations wait already.
	ErrOverloaded = errors.New("too many operations wait")
	// ErrUnknownOutcome: the commit was not answered and the outcome cannot be
	// read. A repeat under the same flag tells it.
	ErrUnknownOutcome = errors.New("outcome unknown")
	// ErrStaleToken: nothing changed, because a later holder of the lock has
	// written already.
	ErrStaleToken = errors.New("fencing token is stale")
	// ErrFlagConflict: the flag is in use for other items, or another quantity.
	ErrFlagConflict = errors.New("flag is in use for something else")
	// ErrUnknownGoods: nothing changed, as there are no such goods.
	ErrUnknownGoods = errors.New("unknown goods")
	// ErrLevelOverflow: nothing changed, as the level would pass MaxLevel.
	ErrLevelOverflow = errors.New("stock level too high")
)

// The rules that a request can break, beside those of package operation.
var (
	ErrInvalidFlag  = errors.New("a flag must have 1 to 64 letters, digits, dashes or underscores")
	ErrInvalidPrice = errors.New("a price must be a whole number of minor units from 0 to 9007199254740991")
	ErrInvalidName  = errors.New("a name must have at most 100 characters")
	ErrInvalidPage  = errors.New("invalid page")
)
