package shop

import (
	"regexp"
	"strings"
)

// secrets find the parts of a text that may be secret: the last group, after the first one.
var secrets = []*regexp.Regexp{
	regexp.MustCompile(`(://[^:@/\s"']*:)([^@\s"']+)@`),
	regexp.MustCompile(`([\w.-]+:)([^@\s"'/]+)@(?:tcp|unix)\(`),
	regexp.MustCompile(`(?i)(` + secretName + `["']?\s*:\s*["'])([^"'\n]+)`),
	regexp.MustCompile(`(?i)(` + secretName + `:\s+)([^"'{\[\s][^,}\n#]*)`),
	regexp.MustCompile(`(?i)(` + secretName + `=)([^&\s"',}]+)`),
	regexp.MustCompile(`(\bmysql[^\n]*? -p)(\S+)`),
}

// secretName is the name of a field, a header or a variable with a secret.
const secretName = `[\w-]*(?:passw|pwd|secret|token|api[-_]?key|authorization|cookie)[\w-]*` //nolint:gosec // a pattern

var isSecret = regexp.MustCompile(`(?i)^` + secretName + `$`)

// IsSecret reports whether a field or a header of that name may be secret.
func IsSecret(name string) bool { return isSecret.MatchString(name) }

// WithoutSecrets returns the text of a file, or of an answer, with … in the place of passwords, tokens and keys.
// Variables and paths into answers are no secrets, and stay.
func WithoutSecrets(text string) string {
	for _, secret := range secrets {
		var out strings.Builder
		last := 0
		for _, m := range secret.FindAllStringSubmatchIndex(text, -1) {
			value := strings.TrimRight(text[m[4]:m[5]], " ")
			if strings.Contains(value, "{{") || strings.HasPrefix(value, "$") {
				continue
			}
			out.WriteString(text[last:m[4]] + "…")
			last = m[4] + len(value)
		}
		text = out.String() + text[last:]
	}
	return text
}
