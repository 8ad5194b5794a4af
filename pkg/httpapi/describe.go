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
	"upper": strings.ToUpper, "ref": refName, "type": typeName,
}).Parse(docsHTML))

func docsPage(openapi []byte) []byte {
	var description map[string]any
	if err := json.Unmarshal(openapi, &description); err != nil {
		panic(fmt.Sprintf("the OpenAPI description: %v", err))
	}
	var page bytes.Buffer
	if err := docsTemplate.Execute(&page, description); err != nil {
		panic(fmt.Sprintf("the page of the OpenAPI description: %v", err))
	}
	return page.Bytes()
}

// refName returns the name that the part of the description refers to, or "".
func refName(part map[string]any) string {
	ref, _ := part["$ref"].(string)
	return ref[strings.LastIndexByte(ref, '/')+1:]
}

// typeName describes a schema briefly, such as "list of Order".
func typeName(schema map[string]any) string {
	items, list := schema["items"].(map[string]any)
	values, enum := schema["enum"].([]any)
	switch {
	case schema["$ref"] != nil:
		return refName(schema)
	case list:
		return "list of " + typeName(items)
	case enum:
		return fmt.Sprintf("%v"+strings.Repeat(" | %v", len(values)-1), values...)
	case schema["format"] != nil:
		return fmt.Sprint(schema["format"])
	}
	return fmt.Sprint(schema["type"])
}
