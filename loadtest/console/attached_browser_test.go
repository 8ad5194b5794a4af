//go:build browser

package console_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"orderstock/loadtest/console"
	"orderstock/loadtest/fire"
)

// target returns the stage's services and databases, once they are up.
func (s *stage) target(t *testing.T) console.Target {
	t.Helper()
	open(t, s.entry()).tile("stock-2", "ready")
	return console.Target{Target: s.lab.Target(), Databases: s.lab.Databases()}
}

// TestAttachedConsoleShowsAnothersRun watches the stage's stack with a second console, which fires nothing.
func TestAttachedConsoleShowsAnothersRun(t *testing.T) {
	s := theStage(t)
	target := s.target(t)
	target.ZooKeeperRoot, target.Redis = s.lab.ZooKeeperRoot(), s.lab.RedisServer()
	for _, r := range s.lab.Replicas() {
		target.Watched = append(target.Watched, console.Watched{
			Kind: string(r.Kind), URL: r.URL(), Ops: "http://" + r.OpsAddr,
		})
	}
	_, server := watch(t, target)
	d := openDoor(t, server)
	close(d.hold)
	page := open(t, d.entry)
	page.await(`document.body.innerText.includes("stock-2")`)

	eval[bool](page, `window.told = new Set(), new MutationObserver(() => `+
		`told.add(document.querySelector("#orders dd").innerText)).observe(document.querySelector("#orders"), `+
		`{subtree: true, childList: true, characterData: true}), true`)
	fired := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		_, err := fire.Run(ctx, fire.Config{
			Target: s.lab.Target(), Duration: time.Minute, Rate: 100, Concurrency: 32, Mix: fire.Mix{Goods: 3, Stock: 10_000},
		})
		fired <- err
	}()
	page.await(`document.querySelector(".hero").innerText.includes("orders of another process")`)
	// Latency is the other process's.
	page.await(`document.querySelectorAll("#charts canvas").length === 1`)
	page.await(`told.size >= 6`) // the number of confirmed orders changes
	rising := 0
	console.Await(t, func() bool {
		rising = 0
		for _, sample := range stateOf(t, d.url, server).Samples {
			if sample.Confirmed > 0 {
				rising++
			}
		}
		return rising >= 6
	}, func() string { return fmt.Sprintf("%d samples of confirmed orders", rising) })
	stop()
	if err := <-fired; err != nil {
		t.Fatal(err)
	}
	if words := page.text("#charts"); !strings.Contains(words, "within –") {
		t.Errorf("the charts say %q, want no latency", words)
	}
	// The console pauses for up to 30 s between two reads of the books.
	page.await(`/sold [1-9][0-9,]* of 30,000/i.test(document.querySelector(".hero").innerText)`)
	page.await(`document.querySelector("#books").innerText.includes("The books agree")`)
	page.await(`[...document.querySelectorAll("#way .edge")].some((e) => ` +
		`/orders written/.test(e.textContent) && /[1-9]/.test(e.textContent))`)
	if words := page.text("#way"); !strings.Contains(words, "do not count their requests to Redis") {
		t.Errorf("the way of an order says %q, want why Redis has no counts", words)
	}
	page.picture("attached", 1440, 1000, false)
	page.withAxe()
	page.barred("attached")
	page.do(chromedp.Click("#tab-free"))
	page.await(`/Not now|does not own|did not start/.test(document.querySelector(".free .why")?.innerText)`)
	page.barred("attached, the reasons")
	page.clean()

	// The console pauses between two looks at the metrics and at the queue, too.
	var edges map[string]int64
	queue := ""
	console.Await(t, func() bool {
		state := stateOf(t, d.url, server)
		edges, queue = state.Edges, state.Lock.Path
		return edges["stock_zookeeper"] > 0 && queue != ""
	}, func() string {
		return fmt.Sprintf("the edges %v, and the queue %q; want a lock that was taken", edges, queue)
	})
}
