package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// Bearer lets only requests pass that carry one of the tokens (see Carries); others get 401 unauthorized.
func Bearer(tokens ...string) gin.HandlerFunc {
	carries := Carries(tokens...)
	return func(c *gin.Context) {
		if !carries(c.Request) {
			c.Header("WWW-Authenticate", `Bearer realm="orderstock"`)
			write(c, NewProblem(http.StatusUnauthorized, "unauthorized", "send Authorization: Bearer with the service token"))
		}
	}
}

// Carries returns a function that reports whether a request carries one of the tokens in its Authorization header.
// Empty tokens are ignored. The time that the comparison takes says nothing about the tokens.
func Carries(tokens ...string) func(*http.Request) bool {
	var wanted [][sha256.Size]byte
	for _, token := range tokens {
		if token != "" {
			wanted = append(wanted, sha256.Sum256([]byte(token)))
		}
	}
	return func(r *http.Request) bool {
		given, ok := BearerToken(r)
		got := sha256.Sum256([]byte(given))
		equal := 0
		for _, want := range wanted {
			equal |= subtle.ConstantTimeCompare(want[:], got[:])
		}
		return equal == 1 && ok
	}
}

// BearerToken returns the token of the request's Authorization header, and whether its scheme is Bearer, which may be
// written in any case (RFC 9110).
func BearerToken(r *http.Request) (token string, ok bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimLeft(token, " "), ok && strings.EqualFold(scheme, "Bearer")
}
