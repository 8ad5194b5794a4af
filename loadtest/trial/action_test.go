package trial_test

import (
	"errors"
	"strings"
	"testing"

	"orderstock/loadtest/trial"
	"orderstock/pkg/httpapi"
)

func TestActionsAreReadAsTheyAreWritten(t *testing.T) {
	for _, text := range []string{
		"1s pause stock-1", "500ms cut stock-2 to mysql", "2s arm-kill stock-1 before commit", "3s flush-redis",
		"0s kill-server mysql", "1s pause stock-1 for 2.5s", "500ms cut stock-2 to mysql for 3s",
	} {
		a, err := trial.Parse(text)
		if err != nil || a.String() != text {
			t.Errorf("%q is read as %q, %v", text, a, err)
		}
	}
	for _, text := range []string{
		"", "pause stock-1", "1s", "1s dance stock-1", "-1s pause stock-1", "1s cut stock-1 mysql", "1s cut stock-1 to",
		"1s pause stock-1 for", "1s pause stock-1 for 0s", "1s pause stock-1 for ever", "1s for 2s",
	} {
		_, err := trial.Parse(text)
		if refused, ok := errors.AsType[*httpapi.Problem](err); !ok || !strings.Contains(refused.Detail, "such as") {
			t.Errorf("%q: %v; want an error with an example", text, err)
		}
	}
}
