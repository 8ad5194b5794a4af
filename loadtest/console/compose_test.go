//go:build browser && compose

package console_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"orderstock/loadtest/system"
)

// TestComposeConsoleShowsARunOfTheLoadTester opens the console of a compose stack of three stock services, whose
// address is in CONSOLE, and has the container of the load tester fire, by the program in COMPOSE, such as "docker
// compose".
func TestComposeConsoleShowsARunOfTheLoadTester(t *testing.T) {
	address, program := os.Getenv("CONSOLE"), strings.Fields(os.Getenv("COMPOSE"))
	if address == "" || len(program) == 0 {
		t.Fatal(`set CONSOLE to the address that "docker compose logs console" ends with, and COMPOSE to "docker compose"`)
	}
	b := open(t, address)
	b.tile("stock-3", "ready")
	args := append(slices.Clone(program[1:]), "run", "--rm", "loadtest",
		"fire", "--orders", "3000", "--concurrency", "50", "--goods", "200", "--stock", "10")
	load := exec.CommandContext(t.Context(), program[0], args...)
	var err error
	if load.Dir, err = system.ModuleRoot(); err != nil {
		t.Fatal(err)
	}
	fired := make(chan string, 1)
	go func() {
		said, err := load.CombinedOutput()
		fired <- fmt.Sprintf("%s\n%v", said, err)
	}()
	b.await(`document.querySelector(".hero").innerText.includes("orders of another process")`)
	b.await(`document.querySelector("#charts canvas")`)
	said := <-fired
	if !regexp.MustCompile(`(?m)^VERDICT: PASS `).MatchString(said) {
		t.Fatalf("the load tester said %s", said)
	}
	// The console reads less often while the machine is busy. There may be a product of an order by hand.
	b.await(`/sold [1-9][0-9]* of 100 of the newest 10 of 20[01] /i.test(document.querySelector(".hero").innerText)`)
	b.await(`document.querySelector("#books").innerText.includes("The books agree")`)
	for _, edge := range []string{"client_order", "order_stock", "order_mysql", "stock_mysql"} {
		b.await(`/[1-9]/.test(document.querySelector('#way [data-edge="` + edge + `"] .count')?.textContent)`)
	}
	b.picture("compose", 1440, 1000, false)
	b.withAxe()
	b.barred("compose")
	b.clean()
}
