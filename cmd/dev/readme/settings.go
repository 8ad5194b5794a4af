package readme

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"orderstock/loadtest/report"
)

// setting is an environment variable of a program.
type setting struct {
	name, standard, says string
	binaries             []string
}

// settings returns the table of the variables of all programs.
func settings(from sources) (string, error) {
	all, err := variables(from.root, "order-service", "stock-service", "migrate", "loadtest")
	if err != nil {
		return "", err
	}
	table := report.NewTable("variable", "default", "by", "meaning")
	for _, s := range all {
		programs := ""
		for _, binary := range s.binaries {
			programs += binary[:1]
		}
		standard := s.standard
		if standard == "none" {
			standard = ""
		}
		table.Add(false, "`"+s.name+"`", standard, programs, s.says)
	}
	return "Read by: **o**rder-service, **s**tock-service, **m**igrate, **l**oadtest.\n\n" + table.Markdown(), nil
}

// helps are the services whose help lists their variables, from the file environment.txt next to their main.
var helps = []string{"order-service", "stock-service"}

func helpFile(root, binary string) string {
	return filepath.Join(root, "cmd", binary, "environment.txt")
}

// help returns the variables of one program for its help.
func help(root, binary string) (string, error) {
	all, err := variables(root, binary)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, s := range all {
		fmt.Fprintf(&text, "  %s (%s)\n", s.name, strings.Trim(strings.Replace(s.standard, "`", "default ", 1), "`"))
		for _, line := range wrap(s.says, 100) {
			fmt.Fprintf(&text, "        %s\n", line)
		}
	}
	return text.String(), nil
}

// wrap splits text between words into lines of at most width bytes.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

// declared are the files with the settings of a program, or with a struct that settings embed.
var declared = map[string][]string{
	"order-service":    {"cmd/order-service/config.go"},
	"stock-service":    {"cmd/stock-service/config.go"},
	"migrate":          {"cmd/migrate/command.go", "cmd/migrate/group.go"},
	"loadtest":         {"cmd/loadtest/config.go"}, // without its experiments, which list their variables with their flags
	"service.Settings": {"pkg/service/settings.go"},
	"redisdb.Location": {"pkg/redisdb/redisdb.go"},
	"tracing.Exports":  {"pkg/tracing/export.go"},
	"order.Config":     {"order-service/order/service.go"},
}

// declaration matches an embedded struct, or a setting: its comment, its field, its variable and its default.
var declaration = regexp.MustCompile("(?m)^\t(\\w+\\.\\w+)$|" +
	"((?:^\t// .*\n)*)^\t(\\w+) .*`env:\"(\\w+)(,required)?[^\"]*\"(?: envDefault:\"([^\"]*)\")?")

// linking is the text between a field's name and its meaning.
var linking = regexp.MustCompile(`^(is|are) `)

// variables reads the variables, their defaults and their comments from the files of the programs.
func variables(root string, binaries ...string) (all []*setting, err error) {
	for _, binary := range binaries {
		if all, err = add(all, root, binary, binary); err != nil {
			return nil, err
		}
	}
	for _, s := range all {
		if s.says == "" {
			return nil, fmt.Errorf("%s of %v has no comment", s.name, s.binaries)
		}
	}
	return all, nil
}

// add adds the settings in the files of a program or of a struct, if they are known. A variable of several programs has
// one entry.
func add(all []*setting, root, binary, of string) ([]*setting, error) {
	for _, file := range declared[of] {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		for _, m := range declaration.FindAllStringSubmatch(string(text), -1) {
			embedded, comment, field, name, required, standard := m[1], m[2], m[3], m[4], m[5], m[6]
			switch {
			case embedded != "":
				if all, err = add(all, root, binary, embedded); err != nil {
					return nil, err
				}
				continue
			case standard != "":
				standard = "`" + standard + "`"
			case required != "":
				standard = "required"
			default:
				standard = "none"
			}
			i := slices.IndexFunc(all, func(s *setting) bool { return s.name == name })
			if i < 0 {
				says := strings.Join(strings.Fields(strings.ReplaceAll(comment, "\t//", "")), " ")
				says = linking.ReplaceAllString(strings.TrimPrefix(says, field+" "), "")
				i, all = len(all), append(all, &setting{name: name, standard: standard, says: strings.TrimSuffix(says, ".")})
			}
			s := all[i]
			if s.standard != standard {
				s.standard += ", " + standard
			}
			if !slices.Contains(s.binaries, binary) {
				s.binaries = append(s.binaries, binary)
			}
		}
	}
	return all, nil
}
