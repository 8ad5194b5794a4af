package httpapi

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/gin-gonic/gin"
)

// Query returns the parameters of the request's query, or an error if it is malformed, of which Go's own
// url.URL.Query leaves a part out in silence.
func Query(c *gin.Context) (url.Values, error) {
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("the query is malformed: %w", err)
	}
	return query, nil
}

// Limit returns the number that the value of a parameter writes in digits, without a sign or zeros before it, or an
// error if it is not from 1 to most.
func Limit(value string, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || strconv.Itoa(n) != value || n < 1 || n > most {
		return 0, fmt.Errorf("limit is a whole number from 1 to %d", most)
	}
	return n, nil
}
