package httpapi

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Waiting is recorded while its profile is asked for, and not before or after.
func TestBlockProfile(t *testing.T) {
	ops := httptest.NewServer(opsHandler(nil))
	defer ops.Close()
	ask := func(query string) (int, []byte) {
		resp, err := ops.Client().Get(ops.URL + "/debug/pprof/block" + query)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, body
	}
	waitInVain()
	stop := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				waitAWhile()
			}
		}
	})
	code, zipped := ask("?seconds=1")
	close(stop)
	waiting.Wait()
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, zipped)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	profile, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(profile, []byte("waitAWhile")) {
		t.Error("the wait is not in the profile")
	}
	if bytes.Contains(profile, []byte("waitInVain")) {
		t.Error("the wait before is in the profile")
	}
	if code, body := ask(""); code != http.StatusBadRequest || !strings.Contains(string(body), "seconds") {
		t.Errorf("without a time: %d %s", code, body)
	}
}

//go:noinline
func waitAWhile() { <-time.After(10 * time.Millisecond) }

//go:noinline
func waitInVain() { <-time.After(100 * time.Millisecond) }
