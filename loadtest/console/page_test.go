package console_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"orderstock/loadtest/console"
	"orderstock/loadtest/report"
	"orderstock/loadtest/verify"
)

// vendored lists every file taken from npm: htm 3.1.1 with Preact inside, @preact/signals-core 1.14.5, uPlot 1.6.32
// and, for tests alone, axe-core 4.14.1, as "npm pack" delivers them. Each has its licence.
var vendored = map[string]string{
	"testdata/axe/LICENSE":                  "af175b9d96ee93c21a036152e1b905b0b95304d4ae8c2c921c7609100ba8df7e",
	"testdata/axe/LICENSE-3RD-PARTY.txt":    "4f8563870d0fca38bbc3e00b6f670cb7fa9f380ba9f26a7f7d1184a6b18b1653",
	"testdata/axe/axe.min.js":               "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c",
	"testdata/axe/package.json":             "dfa850050afad33744b89076848d905e2c60a6915e650e054bf038544930f6e0",
	"vendor/htm/LICENSE":                    "740725f7252e750af735d0028cc534970772f513331e9f68150fede8fb3ce00f",
	"vendor/htm/LICENSE-preact":             "1fe6958409c8c257a70c587a18b6f7f412b179b456630790d30b2ec9a8e4b7d4",
	"vendor/htm/package.json":               "94654229e72f9f809aeab75184c1254f69aafd88e626e97ce994227d01418df1",
	"vendor/htm/standalone.module.js":       "72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7",
	"vendor/signals/LICENSE":                "a11fc89e4c6b118854c7a667734a0b2e6bf2af5e45c6686de31adbccc8f3ae8d",
	"vendor/signals/package.json":           "38b48c6414d2395676a9872863a69db2f88ff9b00bc9eee4154ac8e83f81bdf1",
	"vendor/signals/signals-core.module.js": "45c263e519aaf3b6ef9b0a12a8b63dc06cdfcbd35bffc8203ec68c6117e6fcd7",
	"vendor/uplot/LICENSE":                  "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
	"vendor/uplot/package.json":             "6bfea8e275a2f8194e2395d2dc15f64151e69f141db19741e5a5afe75ba4180b",
	"vendor/uplot/uPlot.iife.min.js":        "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
	"vendor/uplot/uPlot.min.css":            "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}

func TestVendoredFilesAreAsPublished(t *testing.T) {
	found := 0
	check := func(name string, data []byte) {
		found++
		sum := sha256.Sum256(data)
		if got := hex.EncodeToString(sum[:]); got != vendored[name] {
			t.Errorf("%s has SHA-256 %s, want %q", name, got, vendored[name])
		}
	}
	walk(t, "vendor", check)
	axe, err := filepath.Glob("testdata/axe/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range axe {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		check(name, data)
	}
	if found != len(vendored) {
		t.Errorf("found %d vendored files, want %d", found, len(vendored))
	}
}

func TestPageIsSmall(t *testing.T) {
	const most = 150 << 10
	total := 0
	walk(t, ".", func(name string, data []byte) {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		total += packed.Len()
	})
	t.Logf("%d bytes compressed", total)
	if total > most {
		t.Errorf("the page has %d bytes compressed, want at most %d", total, most)
	}
}

// The policy of the page allows no inline script, no style attribute and no other host.
func TestPageKeepsItsPolicy(t *testing.T) {
	inline := regexp.MustCompile(`<script>|<style|\sstyle=|\son[a-z]+=["']`)
	host := regexp.MustCompile(`(?:src|href|from|import|fetch\()\s*[=(]?\s*["']https?://`)
	walk(t, ".", func(name string, data []byte) {
		if strings.HasPrefix(name, "vendor/") {
			return
		}
		if found := inline.Find(data); found != nil {
			t.Errorf("%s holds %q", name, found)
		}
		if found := host.Find(data); found != nil {
			t.Errorf("%s loads from another host: %q", name, found)
		}
	})
}

func TestImportsExist(t *testing.T) {
	imports := regexp.MustCompile(`(?s)\bimport\s[^;]*?from "([^"]+)"`)
	seen := 0
	walk(t, "js", func(name string, data []byte) {
		for _, m := range imports.FindAllStringSubmatch(string(data), -1) {
			seen++
			read(t, path.Join(path.Dir(name), m[1]))
		}
	})
	if seen == 0 {
		t.Error("found no import")
	}
}

// taken describes the picture of the console in the README. It lies beside the picture, made by the same test.
type taken struct {
	Says    string `json:"says"`    // the headlines in the picture
	Shows   string `json:"shows"`   // see looks
	Picture string `json:"picture"` // the picture's SHA-256
}

// looks is the SHA-256 of what a picture of the console shows: the files of the page, and the invariants.
func looks(t *testing.T) string {
	t.Helper()
	all := sha256.New()
	walk(t, ".", func(name string, data []byte) { fmt.Fprintf(all, "%s %d\n%s\n", name, len(data), data) })
	for _, name := range verify.Invariants() {
		fmt.Fprintln(all, name, verify.Says(name))
	}
	return hex.EncodeToString(all.Sum(nil))
}

// TestPictureShowsThePage as it is now.
func TestPictureShowsThePage(t *testing.T) {
	const again = `make test-console RUN=TestBrokenTurnsRedAndFixedPasses && make readme`
	data, err := os.ReadFile("console.json")
	if err != nil {
		t.Fatalf("%v; make the picture: %s", err, again)
	}
	var of taken
	if err := json.Unmarshal(data, &of); err != nil {
		t.Fatal(err)
	}
	if of.Shows != looks(t) {
		t.Errorf("console.png is older than the page or the invariants; make it again: %s", again)
	}
	picture, err := os.ReadFile("console.png")
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(picture); of.Picture != hex.EncodeToString(sum[:]) {
		t.Errorf("console.json describes another picture; make both again: %s", again)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := fs.ReadFile(console.Page(), name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func walk(t *testing.T, root string, do func(name string, data []byte)) {
	t.Helper()
	err := fs.WalkDir(console.Page(), root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		do(name, read(t, name))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if root == "." { // what it shares with others
		for _, name := range []string{report.StyleFile, "texts/zh.json"} {
			do(name, read(t, name))
		}
	}
}
