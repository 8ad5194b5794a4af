package httpapi

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/gin-gonic/gin"
)

// Query returns the parameters of the request's query, or an error if it is malformed. Go's url.URL.Query silently
// drops malformed parts.
func Query(c *gin.Context) (url.Values, error) {
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("the query is malformed: %w", err)
	}
	return query, nil
}

// Limit parses a decimal number without sign or leading zeros. It returns an error if the number is not from 1 to most.
func Limit(value string, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || strconv.Itoa(n) != value || n < 1 || n > most {
		return 0, fmt.Errorf("limit is a whole number from 1 to %d", most)
	}
	return n, nil
}
