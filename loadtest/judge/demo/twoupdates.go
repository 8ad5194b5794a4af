package demo

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// twoUpdates takes the pieces and writes the order, each for itself. A kill between loses pieces.
func twoUpdates(ctx context.Context, db *sql.DB) func(string, int) answer {
	return func(_ string, pieces int) answer {
		taken, err := take(ctx, db, pieces)
		if err != nil || !taken {
			return refused(err)
		}
		time.Sleep(payment)
		id, err := insert(ctx, db, "", pieces, "CONFIRMED")
		if err != nil {
			return failed(err)
		}
		return confirmed(id)
	}
}

// tokens gives and checks tokens of JWT, which say who orders. Their secret is the same after a restart.
type tokens struct{}

var jwtHead = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`))

// of returns a token for a name.
func (tokens) of(name string) string {
	claims, _ := json.Marshal(map[string]string{"sub": name, "jti": rand.Text()}) // has no error for texts
	body := jwtHead + "." + base64.RawURLEncoding.EncodeToString(claims)
	return body + "." + signature(body)
}

// valid reports whether a token has the right signature.
func (tokens) valid(token string) bool {
	i := strings.LastIndex(token, ".")
	return i > 0 && strings.HasPrefix(token, jwtHead+".") && hmac.Equal([]byte(token[i+1:]), []byte(signature(token[:i])))
}

func signature(body string) string {
	mac := hmac.New(sha256.New, []byte("a secret that everyone can read"))
	mac.Write([]byte(body))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
