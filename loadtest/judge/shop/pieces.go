package shop

import (
	"fmt"
	"math"
	"math/big"
	"strings"
)

// Pieces is a number of pieces in millionths, as some shops sell parts of a piece.
type Pieces int64

// Whole is one piece.
const Whole Pieces = 1_000_000

// ParsePieces reads a decimal number with at most six digits after the point that are not zero.
func ParsePieces(text string) (Pieces, error) {
	r, ok := new(big.Rat).SetString(strings.TrimSpace(text))
	if !ok {
		return 0, fmt.Errorf("%q is no number of pieces", text)
	}
	r.Mul(r, new(big.Rat).SetInt64(int64(Whole)))
	if !r.IsInt() || !r.Num().IsInt64() || r.Num().Int64() == math.MinInt64 {
		return 0, fmt.Errorf("%q pieces: want at most six decimals and thirteen digits", text)
	}
	return Pieces(r.Num().Int64()), nil
}

func (p Pieces) String() string {
	sign, n := "", int64(p)
	if n < 0 {
		sign, n = "-", -n
	}
	text := fmt.Sprintf("%s%d", sign, n/int64(Whole))
	if part := n % int64(Whole); part != 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%06d", part), "0")
	}
	return text
}

// MarshalJSON writes the number.
func (p Pieces) MarshalJSON() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalJSON reads the number.
func (p *Pieces) UnmarshalJSON(text []byte) (err error) {
	*p, err = ParsePieces(string(text))
	return err
}
