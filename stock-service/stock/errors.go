package stock

import "errors"

// The errors of operations; match with errors.Is.
var (
	// ErrUnavailable: nothing changed; the lock or the database did not answer in time.
	ErrUnavailable = errors.New("not available in time")
	// ErrOverloaded: nothing changed; too many operations are waiting.
	ErrOverloaded = errors.New("too many operations are waiting")
	// ErrUnknownOutcome: the commit was not answered, and the outcome cannot be read. A repeat under the same flag returns
	// it.
	ErrUnknownOutcome = errors.New("outcome unknown")
	// ErrStaleToken: nothing changed; a later holder of the lock has already written.
	ErrStaleToken = errors.New("fencing token is stale")
	// ErrFlagConflict: nothing changed; the flag is in use for something else.
	ErrFlagConflict = errors.New("flag is in use for something else")
	// ErrUnknownGoods: nothing changed; there is no such product.
	ErrUnknownGoods = errors.New("unknown product")
	// ErrLevelOverflow: nothing changed; the level would be above MaxLevel.
	ErrLevelOverflow = errors.New("stock level too high")
)

// The rules that a request can break, in addition to package operation's.
var (
	ErrInvalidFlag  = errors.New("a flag must have 1 to 64 letters, digits, dashes or underscores")
	ErrInvalidPrice = errors.New("a price must be a whole number of minor units from 0 to 9007199254740991")
	ErrInvalidName  = errors.New("a name must have at most 100 characters, no control characters and no U+FFFD")
	ErrInvalidPage  = errors.New("invalid page")
)
