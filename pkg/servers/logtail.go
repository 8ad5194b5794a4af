package servers

import (
	"io"
	"os"
	"strings"
)

// logTail returns the last lines of the file after the offset from, indented,
// to be shown below an error.
func logTail(path string, from int64) string {
	const size, lines = 6 << 10, 25
	f, err := os.Open(path)
	if err != nil {
		return "    (no log: " + err.Error() + ")"
	}
	defer func() { _ = f.Close() }()
	if end, err := f.Seek(0, io.SeekEnd); err == nil && end-size > from {
		from = end - size
	}
	text, err := io.ReadAll(io.NewSectionReader(f, from, size))
	if err != nil {
		return "    (no log: " + err.Error() + ")"
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return "    " + path + " ends with:\n    " + strings.Join(all, "\n    ")
}
