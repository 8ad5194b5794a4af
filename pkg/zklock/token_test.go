package zklock_test

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"orderstock/pkg/zklock"
)

func TestTokensCompareInEveryForm(t *testing.T) {
	sorted := []zklock.Token{
		{},
		{Local: 1},
		{Czxid: 1},
		{Czxid: 1, Local: 1},
		{Czxid: 1, Local: math.MaxUint64},
		{Czxid: 255},
		{Czxid: 256},
		{Czxid: math.MaxInt64, Local: 7},
	}
	for i, a := range sorted {
		for j, b := range sorted {
			want := min(max(i-j, -1), 1)
			if got := a.Compare(b); got != want || a.Less(b) != (want < 0) {
				t.Errorf("%+v and %+v compare as %d, want %d", a, b, got, want)
			}
			if got := bytes.Compare(value(t, a), value(t, b)); got != want {
				t.Errorf("%+v and %+v compare as %d in SQL, want %d", a, b, got, want)
			}
			if got := slices.Compare([]byte(a.String()), []byte(b.String())); got != want {
				t.Errorf("%v and %v compare as %d as strings, want %d", a, b, got, want)
			}
		}
		if a.IsZero() != (i == 0) {
			t.Errorf("%v is zero: %v", a, a.IsZero())
		}
	}
}

func value(t *testing.T, token zklock.Token) []byte {
	t.Helper()
	v, err := driver.Valuer(token).Value()
	must(t, err)
	return v.([]byte)
}

func TestTokensAreReadAsWritten(t *testing.T) {
	want := zklock.Token{Czxid: 0x1_0000_0002, Local: 3}
	if s := want.String(); s != "00000001000000020000000000000003" {
		t.Errorf("string %q", s)
	}
	var parsed zklock.Token
	if err := parsed.UnmarshalText([]byte(want.String())); parsed != want || err != nil {
		t.Errorf("parsed %v, %v", parsed, err)
	}
	for _, src := range []any{value(t, want), string(value(t, want))} {
		var got zklock.Token
		if err := got.Scan(src); got != want || err != nil {
			t.Errorf("scanned %v, %v", got, err)
		}
	}
	text, err := json.Marshal(want)
	must(t, err)
	var got zklock.Token
	if err := json.Unmarshal(text, &got); got != want || err != nil {
		t.Errorf("JSON %s is %v, %v", text, got, err)
	}
	if err := got.Scan(nil); !got.IsZero() || err != nil {
		t.Errorf("NULL is %v, %v", got, err)
	}
}

func TestTokensRefuseOtherThings(t *testing.T) {
	for _, s := range []string{
		"", "0", "0000000100000002000000000000000", "000000010000000200000000000000033", "g0000001000000020000000000000003",
	} {
		token := zklock.Token{Czxid: 1}
		if err := token.UnmarshalText([]byte(s)); err == nil || token != (zklock.Token{Czxid: 1}) {
			t.Errorf("parsed %q as %v, %v", s, token, err)
		}
	}
	for _, src := range []any{[]byte{}, make([]byte, 15), make([]byte, 17), int64(1), 1.5} {
		token := zklock.Token{Czxid: 1}
		if err := token.Scan(src); err == nil || token != (zklock.Token{Czxid: 1}) {
			t.Errorf("scanned %v as %v, %v", src, token, err)
		}
	}
}
