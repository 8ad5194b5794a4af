package programs

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestProgress: every ten seconds there is a word on how far the compiler is, until it has ended.
func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said []string
		done := counter{looking: true}
		stop := report(func(doing string) { said = append(said, doing) }, &done)
		done.n.Store(40)
		time.Sleep(15 * time.Second)
		done.total.Store(600)
		time.Sleep(10 * time.Second)
		stop()
		time.Sleep(time.Minute)
		want := "compiled 40 packages of the standard library; looking for the modules, compiled 40 of 600 packages"
		if got := strings.Join(said, ", "); got != want {
			t.Errorf("said in 25 seconds: %s", got)
		}
	})
}

// TestProgressOfWhatIsCompiledAlready does not count to 0.
func TestProgressOfWhatIsCompiledAlready(t *testing.T) {
	t.Parallel()
	for _, total := range []int64{0, 678} {
		var done counter
		done.total.Store(total)
		if said := done.String(); strings.Contains(said, "0") {
			t.Errorf("of %d packages: %s", total, said)
		}
	}
}

// TestLines: the output of the go command comes in any parts. Paths are counted, and all else is kept.
func TestLines(t *testing.T) {
	t.Parallel()
	var count counter
	out := &lines{packages: &count}
	for _, part := range []string{
		"go: downloading a v1\nnet/", "http\nexample.com/", "a\n# example.com/a\na.go:1:2: wrong\n",
	} {
		if n, err := out.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if count.n.Load() != 2 || out.others.String() != "go: downloading a v1\n# example.com/a\na.go:1:2: wrong\n" {
		t.Errorf("%d packages, and %q", count.n.Load(), out.others.String())
	}
}
