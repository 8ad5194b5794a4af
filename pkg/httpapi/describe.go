package httpapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// Describe adds GET /openapi.json, which answers the OpenAPI description as given, and GET /docs, a self-contained page
// that shows it. It panics if openapi is not a description in JSON.
func Describe(e *gin.Engine, openapi []byte) {
	page := docsPage(openapi)
	Get(e, "/openapi.json", func(c *gin.Context) { c.Data(http.StatusOK, "application/json", openapi) })
	Get(e, "/docs", func(c *gin.Context) {
		c.Header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		c.Data(http.StatusOK, "text/html; charset=utf-8", page)
	})
}

//go:embed docs.html
var docsHTML string

var docsTemplate = template.Must(template.New("docs").Funcs(template.FuncMap{
	"upper": strings.ToUpper,
	"name":  func(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] },
	"type":  typeName,
}).Parse(docsHTML))

// The parts of a description that the page shows.
type (
	described struct {
		Info struct {
			Title, Version, Description string
		}
		Paths      map[string]map[string]describedCall
		Components struct {
			Responses map[string]describedAnswer
			Schemas   map[string]schema
		}
	}
	describedCall struct {
		Summary, Description string
		Parameters           []struct {
			Name, In, Description string
			Required              bool
		}
		RequestBody struct {
			Content map[string]struct{ Schema schema }
		}
		Responses map[string]describedAnswer
	}
	describedAnswer struct {
		Ref         string `json:"$ref"`
		Description string
		Content     map[string]struct{ Schema schema }
	}
	schema struct {
		Ref                          string `json:"$ref"`
		Type                         any
		Description, Pattern, Format string
		Enum                         []string
		Required                     []string
		Items                        *schema
		Properties                   map[string]schema
	}
)

func docsPage(openapi []byte) []byte {
	var d described
	if err := json.Unmarshal(openapi, &d); err != nil {
		panic(fmt.Sprintf("the OpenAPI description: %v", err))
	}
	for _, calls := range d.Paths {
		for _, call := range calls {
			for status, answer := range call.Responses {
				if answer.Ref != "" {
					call.Responses[status] = d.Components.Responses[answer.Ref[strings.LastIndexByte(answer.Ref, '/')+1:]]
				}
			}
		}
	}
	var page bytes.Buffer
	if err := docsTemplate.Execute(&page, d); err != nil {
		panic(fmt.Sprintf("the page of the OpenAPI description: %v", err))
	}
	return page.Bytes()
}

// typeName describes a schema briefly, such as "list of Order".
func typeName(s schema) string {
	switch {
	case s.Ref != "":
		return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	case s.Items != nil:
		return "list of " + typeName(*s.Items)
	case len(s.Enum) > 0:
		return strings.Join(s.Enum, " | ")
	case s.Format != "":
		return s.Format
	}
	return fmt.Sprint(s.Type)
}
