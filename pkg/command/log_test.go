package command_test

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"orderstock/pkg/command"
)

// TestALogThatNobodyReadsHoldsNobody: lines are dropped and counted while the pipe is full. Those before, a line with
// the count, and those after arrive whole.
func TestALogThatNobodyReadsHoldsNobody(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out := command.Log(write)
	log := slog.New(slog.NewJSONHandler(out, nil))
	long := strings.Repeat("x", 1000)
	for range 5000 {
		log.Info(long)
	}
	if out.Dropped() == 0 {
		t.Error("5 MB are kept in memory")
	}
	out.Flush(time.Millisecond) // returns though nobody reads
	all := make(chan []byte)
	go func() {
		text, _ := io.ReadAll(read)
		all <- text
	}()
	out.Flush(time.Minute)
	log.Info("last")
	out.Flush(time.Minute)
	_ = write.Close()
	lines := bytes.Split(bytes.TrimSuffix(<-all, []byte("\n")), []byte("\n"))
	kept, told := 0, 0
	for _, line := range lines {
		switch {
		case bytes.Contains(line, []byte(long)):
			kept++
		case bytes.Contains(line, []byte("log lines dropped")):
			told++
		}
		if !bytes.HasPrefix(line, []byte("{")) || !bytes.HasSuffix(line, []byte("}")) {
			t.Errorf("half a line: %.80q", line)
		}
	}
	if int64(kept)+out.Dropped() != 5000 || told == 0 || !bytes.Contains(lines[len(lines)-1], []byte(`"last"`)) {
		t.Errorf("%d lines read, %d dropped, %d lines about that, last %.80q", kept, out.Dropped(), told, lines[len(lines)-1])
	}
}
