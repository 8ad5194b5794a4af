// Package texts says texts for people, which are written in English, in other languages. A language has one file: the
// English texts with their translations. {1} and {2} are the places of values. The console's page reads the same file
// (js/text.js).
package texts

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/text/language"
)

// Files holds the file of each language but English.
//
//go:embed *.json
var Files embed.FS

// Language is a language that texts are said in. It is safe for concurrent use.
type Language struct {
	// Tag names it as HTML does, and Name in its words.
	Tag, Name    string
	page, server map[string]string
	patterns     []pattern // of server
}

// pattern matches an English text with values.
type pattern struct {
	english *regexp.Regexp
	text    string
}

// English says each text as it is.
func English() *Language { return &Language{Tag: "en", Name: "English"} }

// Chinese is simplified Chinese.
var Chinese = sync.OnceValue(func() *Language {
	l, err := read("zh.json", &Language{Tag: "zh-CN", Name: "中文"})
	if err != nil {
		panic(err) // the file is a part of the program
	}
	return l
})

// Languages lists all languages, English first.
func Languages() []*Language { return []*Language{English(), Chinese()} }

var matcher = language.NewMatcher([]language.Tag{language.English, language.SimplifiedChinese}) // as in Languages

// For returns the language for a reader who sends that header Accept-Language.
func For(accept string) *Language {
	_, i := language.MatchStrings(matcher, accept)
	return Languages()[i]
}

var place = regexp.MustCompile(`\\\{\d\\\}`)

// read reads a language's file.
func read(name string, l *Language) (*Language, error) {
	data, err := Files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read texts: %w", err)
	}
	var all struct{ Page, Server json.RawMessage }
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("read texts %s: %w", name, err)
	}
	if err := errors.Join(json.Unmarshal(all.Page, &l.page), json.Unmarshal(all.Server, &l.server)); err != nil {
		return nil, fmt.Errorf("read texts %s: %w", name, err)
	}
	for d := json.NewDecoder(bytes.NewReader(all.Server)); ; { // again: the first pattern that matches counts
		switch token, err := d.Token(); key := token.(type) {
		case string:
			if _, err := d.Token(); err != nil {
				return nil, fmt.Errorf("read texts %s: %w", name, err)
			}
			if strings.Contains(key, "{1}") {
				english := place.ReplaceAllString(regexp.QuoteMeta(key), "(.+?)")
				l.patterns = append(l.patterns, pattern{regexp.MustCompile("^" + english + "$"), l.server[key]})
			}
		case nil:
			return nil, fmt.Errorf("read texts %s: %w", name, err)
		case json.Delim:
			if key == '}' {
				return l, nil
			}
		}
	}
}

// between matches the spaces between two Chinese words, where values met.
var between = regexp.MustCompile(`([\x{4e00}-\x{9fff}，。：（]) +([\x{4e00}-\x{9fff}])`)

var spaces = regexp.MustCompile(` +`)

// Say returns the text in the language; one that the language has not stays English. Its values are texts, too.
func (l *Language) Say(text string) string {
	if said, ok := l.server[text]; ok {
		return said
	}
	for _, p := range l.patterns {
		values := p.english.FindStringSubmatch(text)
		if values == nil {
			continue
		}
		said := p.text
		for i, value := range values[1:] {
			said = strings.ReplaceAll(said, fmt.Sprintf("{%d}", i+1), l.Say(value))
		}
		said = between.ReplaceAllString(between.ReplaceAllString(said, "$1$2"), "$1$2") // matches may overlap
		return strings.TrimSpace(spaces.ReplaceAllString(said, " "))
	}
	return text
}

// File returns the name of a document in the language: a.md is a.zh-CN.md in Chinese.
func (l *Language) File(name string) string {
	if l.Tag == English().Tag {
		return name
	}
	end := path.Ext(name)
	return strings.TrimSuffix(name, end) + "." + l.Tag + end
}

// markup matches what stands between the texts of a line in Markdown.
var markup = regexp.MustCompile("(?m)^#+ (?:[A-Z]\\. )?|^- | \\(`[^`]+`\\)$|\\*\\*|<br>|\\||[✗✓‖] | ──►|◄── ")

// Document returns a document in Markdown, which is written in English, in the language. Each of its texts stands
// within a line; code is kept, and its remarks are texts.
func (l *Language) Document(markdown string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(markdown) {
		from, heads := 0, l.page
		switch remark := strings.Index(line, "//"); {
		case strings.HasPrefix(line, "```"):
			code = !code
		case code:
			heads = nil
			if remark >= 0 {
				b.WriteString(l.within(line[:remark], nil))
				from = remark
			}
		default:
			for _, at := range markup.FindAllStringIndex(line, -1) {
				b.WriteString(l.within(line[from:at[0]], heads) + line[at[0]:at[1]])
				from = at[1]
			}
		}
		b.WriteString(l.within(line[from:], heads))
	}
	return b.String()
}

// within says the text between spaces: with the server's words or, if those have it not, as a head of the page.
func (l *Language) within(text string, heads map[string]string) string {
	trimmed := strings.TrimSpace(text)
	before, after, _ := strings.Cut(text, trimmed)
	said := l.Say(trimmed)
	if head, ok := heads[trimmed]; ok && said == trimmed {
		said = head
	}
	return before + said + after
}
