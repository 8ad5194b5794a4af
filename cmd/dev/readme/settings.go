package readme

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
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

// variables reads the variables, their defaults and their comments from the settings structs of the programs.
func variables(root string, binaries ...string) (all []*setting, err error) {
	for _, binary := range binaries {
		fields, err := configFields(root, filepath.Join("cmd", binary), structs[binary])
		if err != nil {
			return nil, err
		}
		for _, field := range fields {
			all = addSetting(all, binary, field)
		}
	}
	for _, s := range all {
		if s.says == "" {
			return nil, fmt.Errorf("%s of %v has no comment", s.name, s.binaries)
		}
	}
	return all, nil
}

// structs names the only struct to read in a program. The load tester's experiments list their variables with their
// flags.
var structs = map[string]string{"loadtest": "surroundings"}

// configFields returns the tagged fields of the structs in the folder, or only of the struct called name. An embedded
// struct of the module stands for its fields.
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
				at, embedded := embeds(file, folder, field)
				if at == "" || at == folder && name == "" { // all files of this folder are read
					continue
				}
				more, err := configFields(root, at, embedded)
				if err != nil {
					return nil, err
				}
				fields = append(fields, more...)
			}
		}
	}
	return fields, nil
}

// embeds returns the struct that the field embeds, and the folder of its package; "" if the field embeds none of the
// module.
func embeds(file *ast.File, folder string, field *ast.Field) (at, name string) {
	if len(field.Names) > 0 {
		return "", ""
	}
	switch embedded := field.Type.(type) {
	case *ast.Ident:
		return folder, embedded.Name
	case *ast.SelectorExpr:
		return importedFrom(file, embedded.X), embedded.Sel.Name
	}
	return "", ""
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

// linking is the text between a field's name and its meaning.
var linking = regexp.MustCompile(`^(is|are) `)

// addSetting adds a field's variable, or adds the program to the existing entry.
func addSetting(all []*setting, binary string, field *ast.Field) []*setting {
	tag, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		return all
	}
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("env"), ",")
	if name == "" {
		return all
	}
	standard := reflect.StructTag(tag).Get("envDefault")
	switch {
	case standard != "":
		standard = "`" + standard + "`"
	case strings.Contains(tag, "required"):
		standard = "required"
	default:
		standard = "none"
	}
	says := strings.Join(strings.Fields(field.Doc.Text()), " ")
	if len(field.Names) > 0 {
		says = linking.ReplaceAllString(strings.TrimPrefix(says, field.Names[0].Name+" "), "")
	}
	says = strings.TrimSuffix(says, ".")
	for _, s := range all {
		if s.name == name {
			if s.standard != standard {
				s.standard += ", " + standard
			}
			if !slices.Contains(s.binaries, binary) {
				s.binaries = append(s.binaries, binary)
			}
			return all
		}
	}
	return append(all, &setting{name: name, standard: standard, says: says, binaries: []string{binary}})
}
