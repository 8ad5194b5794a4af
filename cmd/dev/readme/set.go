package readme

import (
	"fmt"
	"os"
	"strings"
)

// Set replaces the text in the file between the lines "<!-- name:begin -->" and "<!-- name:end -->". If the file does
// not have that pair of lines, in that order, Set returns an error and leaves it unchanged.
func Set(file, name, text string) error {
	body, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("set %s: %w", name, err)
	}
	begin, end := "<!-- "+name+":begin -->\n", "<!-- "+name+":end -->"
	before, rest, ok := strings.Cut(string(body), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("set %s: %s has no lines %q and %q", name, file, strings.TrimSpace(begin), end)
	}
	next := before + begin + strings.TrimRight(text, "\n") + "\n" + end + after
	if err := os.WriteFile(file, []byte(next), 0o644); err != nil {
		return fmt.Errorf("set %s: %w", name, err)
	}
	return nil
}
