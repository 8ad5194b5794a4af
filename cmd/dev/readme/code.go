package readme

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"orderstock/loadtest/verify"
)

func invariants(sources) (string, error) {
	text := "| invariant | what holds |\n| --- | --- |\n"
	for _, name := range verify.Invariants() {
		text += fmt.Sprintf("| `%s` | %s |\n", name, verify.Says(name))
	}
	return text, nil
}

// faultsOfTheCaseStudy are what its published versions get wrong, by letter.
var faultsOfTheCaseStudy = []struct{ letter, fault string }{
	{"A", "the lock is released before the commit"},
	{"B", "an error is caught inside the transaction: half an order stays deducted"},
	{"C", "the flag is taken, then the process dies: every retry is told \"repeat\""},
	{"D", "a repeat is not told the first attempt's outcome"},
	{"E", "the order fails by timeout, and the deduction lands later"},
	{"F", "the order has no state, and nothing settles it after a crash"},
	{"G", "a new ZooKeeper session for each lock"},
	{"H", "one lock for all goods"},
	{"I", "`exists`, then `create`, for the parent node: two first-comers race"},
	{"J", "the latch is made after the check: the waiter sleeps for ever"},
	{"K", "the watched predecessor vanishes, and the waiter takes the lock without another look"},
	{"L", "a waiter that times out leaves its node behind"},
	{"M", "release deletes the first child, not its own"},
	{"N", "children are sorted by a field of the name split at `-`, which a GUID holds"},
	{"O", "nothing tells the holder that its session expired"},
	{"P", "the request thread sleeps through the confirmation"},
	{"Q", "price and quantity are the client's word"},
}

var (
	faultTest  = regexp.MustCompile(`(?m)^func (TestFault([A-Q])(?:[A-Z_]\w*)?)\(`)
	faultPatch = regexp.MustCompile(`(?m)^Published-Fault: ([A-Q])$`)
)

// caseStudyFaults finds the regression tests by their names, TestFaultA…, and
// the patches that bring a fault back by the letter in them.
func caseStudyFaults(from sources) (string, error) {
	tests, patches := map[string][]string{}, map[string][]string{}
	err := eachFile(from.root, "_test.go", func(path, text string) {
		for _, m := range faultTest.FindAllStringSubmatch(text, -1) {
			tests[m[2]] = append(tests[m[2]], link(m[1], path))
		}
	})
	if err != nil {
		return "", err
	}
	err = eachFile(from.root, ".patch", func(path, text string) {
		if m := faultPatch.FindStringSubmatch(text); m != nil {
			patches[m[1]] = append(patches[m[1]], link(strings.TrimSuffix(filepath.Base(path), ".patch"), path))
		}
	})
	if err != nil {
		return "", err
	}
	text := "| | fault | test | patch that brings it back |\n| --- | --- | --- | --- |\n"
	for _, f := range faultsOfTheCaseStudy {
		if len(tests[f.letter]) == 0 {
			return "", fmt.Errorf("fault %s has no test TestFault%s…", f.letter, f.letter)
		}
		slices.Sort(tests[f.letter])
		text += fmt.Sprintf("| %s | %s | %s | %s |\n", f.letter, f.fault,
			strings.Join(tests[f.letter], "<br>"), strings.Join(patches[f.letter], "<br>"))
	}
	return text, nil
}

// link returns a link to a file of the module for the table in loadtestDoc.
func link(name, path string) string {
	return fmt.Sprintf("[`%s`](../%s)", name, filepath.ToSlash(path))
}

// eachFile calls fn with every file of the project whose name ends so; paths are relative to root.
func eachFile(root, suffix string, fn func(path, text string)) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "out" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(d.Name(), suffix) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		fn(relative, string(text))
		return nil
	})
}

// setting is a variable of the environment that a binary reads.
type setting struct {
	name, standard, says string
	binaries             []string
}

// settings reads the variables, their defaults and their comments from the
// config structs of the binaries.
func settings(from sources) (string, error) {
	var all []*setting
	for _, binary := range []string{"order-service", "stock-service", "migrate", "loadtest"} {
		fields, err := configFields(from.root, filepath.Join("cmd", binary), "")
		if err != nil {
			return "", err
		}
		for _, field := range fields {
			all = addSetting(all, binary, field)
		}
	}
	text := "| variable | default | read by | what |\n| --- | --- | --- | --- |\n"
	for _, s := range all {
		if s.says == "" {
			s.says = meanings[s.name]
		}
		if s.says == "" {
			return "", fmt.Errorf("%s of %v has no comment", s.name, s.binaries)
		}
		text += fmt.Sprintf("| `%s` | %s | %s | %s |\n", s.name, s.standard, strings.Join(s.binaries, ", "), s.says)
	}
	return text, nil
}

// configFields returns the fields with tags of the structs in the folder, or of
// the struct called name alone. A struct of another package of the module that is
// embedded stands for its fields.
func configFields(root, folder, name string) (fields []*ast.Field, err error) {
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		var types []*ast.StructType
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && (name == "" || spec.Name.Name == name) {
				if structure, ok := spec.Type.(*ast.StructType); ok {
					types = append(types, structure)
				}
			}
			return true
		})
		for _, t := range types {
			for _, field := range t.Fields.List {
				if field.Tag != nil {
					fields = append(fields, field)
					continue
				}
				embedded, ok := field.Type.(*ast.SelectorExpr)
				if !ok || len(field.Names) > 0 {
					continue
				}
				if at := importedFrom(file, embedded.X); at != "" {
					more, err := configFields(root, at, embedded.Sel.Name)
					if err != nil {
						return nil, err
					}
					fields = append(fields, more...)
				}
			}
		}
	}
	return fields, nil
}

// importedFrom returns the folder of the package of the module that the file imports under that name, or "".
func importedFrom(file *ast.File, name ast.Expr) string {
	ident, ok := name.(*ast.Ident)
	if !ok {
		return ""
	}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if folder, ok := strings.CutPrefix(path, "orderstock/"); ok && filepath.Base(folder) == ident.Name {
			return folder
		}
	}
	return ""
}

// meanings are those of variables whose name says nearly all.
var meanings = map[string]string{
	"LISTEN_ADDR":               "where the service listens",
	"LOG_LEVEL":                 "DEBUG, INFO, WARN or ERROR",
	"SHUTDOWN_TIMEOUT":          "how long a stop waits for requests in flight",
	"SERVICE_TOKEN":             "bearer token of the stock service",
	"MYSQL_DSN":                 "the service's database, user:password@tcp(host:port)/database",
	"MYSQL_MAX_CONNS":           "connections to it",
	"REDIS_ADDR":                "host:port",
	"ZOOKEEPER_ADDRS":           "host:port, several by comma",
	"ZOOKEEPER_ROOT":            "node that all nodes of the project are under",
	"ZOOKEEPER_SESSION_TIMEOUT": "how long ZooKeeper waits for a silent session",
	"LOCK_TIMEOUT":              "how long a deduction waits for its lock",
	"MAX_IN_FLIGHT":             "orders or operations in work; more are answered 503 at once",
	"STOCK_URLS":                "addresses of the stock service, several by comma; see STOCK_SPREAD",
	"STOCK_SPREAD": "true sends calls round-robin; by default they stick to the first healthy stock service, " +
		"where the lock can stay. With STOCK_REQUESTS=0 they are sent round-robin in any case",
	"ORDER_URLS":          "addresses of the order service, several by comma",
	"MYSQL_ADMIN_DSN":     "of a user who may make databases and users",
	"ORDER_DB_PASSWORD":   "of order_app",
	"STOCK_DB_PASSWORD":   "of stock_app",
	"MIGRATE_DB_PASSWORD": "of migrator",
	"VERIFY_DB_PASSWORD":  "of verifier, who may only read",
	"MIGRATE_WAIT":        "how long to wait for the database server",
	"VERIFY_ORDER_DSN":    "order database, as verifier",
	"RECONCILE_INTERVAL":  "pause between the reconciler's rounds",
	"RECONCILE_MAX_PAUSE": "longest pause of the reconciler while the stock service is down, " +
		"and how long a replica that gave the lead up stays out",
	"VERIFY_STOCK_DSN": "stock database, as verifier",
}

func addSetting(all []*setting, binary string, field *ast.Field) []*setting {
	tag, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		return all
	}
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("env"), ",")
	if name == "" {
		return all
	}
	standard, given := reflect.StructTag(tag).Lookup("envDefault")
	switch {
	case given:
		standard = "`" + standard + "`"
	case strings.Contains(tag, "required"):
		standard = "required"
	default:
		standard = "none"
	}
	says := strings.Join(strings.Fields(field.Doc.Text()), " ")
	if len(field.Names) > 0 {
		says = strings.TrimPrefix(strings.TrimPrefix(says, field.Names[0].Name+" "), "is ")
	}
	says = strings.TrimSuffix(says, ".")
	for _, s := range all {
		if s.name == name {
			if s.standard != standard {
				s.standard += ", " + standard
			}
			s.binaries = append(s.binaries, binary)
			return all
		}
	}
	if meanings[name] != "" {
		says = ""
	}
	return append(all, &setting{name: name, standard: standard, says: says, binaries: []string{binary}})
}
