package shop

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// draft is a request that places an order. A file is made of it.
type draft struct {
	method, address string
	headers         []string // "Name: value"
	data            []string // "name=value" of a form, or a body
	parts           []string // "name=value" of a form with parts
	json            bool     // the data are parts of one text
	insecure        bool
	// login: it needs one. before and after are requests that were sent before it and after it. answers are lines for the
	// file, and token is the path of a token in its answer, or "".
	login         bool
	token         string
	before, after []draft
	answers       string
}

// option is what an option of curl does with its value.
type option func(c *draft, value string)

// options are the options of curl with a value, by their long names and letters.
var options = map[string]option{
	"--request": func(c *draft, v string) { c.method = v }, "-X": func(c *draft, v string) { c.method = v },
	"--header": addHeader, "-H": addHeader, "--url": func(c *draft, v string) { c.address = v },
	"--data": addData, "-d": addData, "--data-raw": addData, "--data-binary": addData, "--data-ascii": addData,
	"--data-urlencode": func(c *draft, v string) {
		if name, value, ok := strings.Cut(v, "="); ok {
			v = name + "=" + url.QueryEscape(value)
		}
		addData(c, v)
	},
	"--json": func(c *draft, v string) { addData(c, v); c.json = true },
	"--form": addPart, "-F": addPart, "--form-string": addPart,
	"--user": addUser, "-u": addUser, "--cookie": addCookie, "-b": addCookie,
}

// ignored are options with a value that say nothing about the request.
const ignored = " --output -o --max-time -m --user-agent -A --referer -e --write-out -w --cookie-jar -c " +
	"--connect-timeout --retry --proxy -x --cacert --cert -E --key "

func addHeader(c *draft, v string) { c.headers = append(c.headers, v) }
func addData(c *draft, v string)   { c.data = append(c.data, v) }
func addPart(c *draft, v string)   { c.parts = append(c.parts, v) }
func addCookie(c *draft, v string) { addHeader(c, "Cookie: "+v) }
func addUser(c *draft, v string) {
	addHeader(c, "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte(v)))
}

// parseCurl reads a command line, as a browser copies it.
func parseCurl(command string) (*draft, error) {
	words, err := Words(command)
	if err != nil {
		return nil, fmt.Errorf("curl: %w", err)
	}
	if len(words) > 0 && words[0] == "curl" {
		words = words[1:]
	}
	c := &draft{}
	for i := 0; i < len(words); i++ {
		name, value, joined := cutOption(words[i])
		do, known := options[name]
		switch {
		case !strings.HasPrefix(name, "-"):
			c.address = name
			continue
		case !known && !strings.Contains(ignored, " "+name+" "): // an option, or letters, without a value
			letters := !strings.HasPrefix(name, "--")
			c.insecure = c.insecure || name == "--insecure" || letters && strings.Contains(words[i], "k")
			continue
		case !joined && i+1 == len(words):
			return nil, fmt.Errorf("curl: %s has no value", name)
		case !joined:
			i++
			value = words[i]
		}
		if known {
			do(c, value)
		}
	}
	if c.address == "" {
		return nil, errors.New("curl: the command has no address")
	}
	return c, nil
}

// cutOption splits "--request=POST", "-XPOST" and "-sXPOST" into the option and its value.
func cutOption(word string) (name, value string, joined bool) {
	if strings.HasPrefix(word, "--") || !strings.HasPrefix(word, "-") || len(word) < 2 {
		if name, value, joined = strings.Cut(word, "="); strings.HasPrefix(word, "--") {
			return name, value, joined
		}
		return word, "", false
	}
	for i, letter := range word[1:] {
		name = "-" + string(letter)
		if _, known := options[name]; known || strings.Contains(ignored, " "+name+" ") {
			return name, word[i+2:], i+2 < len(word)
		}
	}
	return name, "", false
}

// Words splits a command as a shell does, with quotes and backslashes.
func Words(text string) (words []string, err error) {
	var word strings.Builder
	started := false // a word may be empty, in quotes
	for rest := text; rest != ""; {
		var part string
		switch {
		case strings.HasPrefix(rest, "'"), strings.HasPrefix(rest, `"`), strings.HasPrefix(rest, "$'"):
			if part, rest, err = quotedPart(rest); err != nil {
				return nil, err
			}
			started = true
		case strings.HasPrefix(rest, "\\\n"), strings.HasPrefix(rest, "\\\r\n"):
			_, rest, _ = strings.Cut(rest, "\n")
		case rest[0] == '\\' && len(rest) > 1:
			_, size := utf8.DecodeRuneInString(rest[1:])
			part, rest, started = rest[1:1+size], rest[1+size:], true
		case strings.Contains(" \t\r\n", rest[:1]):
			if started {
				words, started = append(words, word.String()), false
				word.Reset()
			}
			rest = rest[1:]
		default:
			part, rest, started = rest[:1], rest[1:], true
		}
		word.WriteString(part)
	}
	if started {
		words = append(words, word.String())
	}
	return words, nil
}

// quotedPart returns the text in the quotes at the beginning of text, and the rest after it.
func quotedPart(text string) (says, rest string, err error) {
	open := text[:1]
	if open == "$" {
		open = text[:2]
	}
	var out strings.Builder
	for rest = text[len(open):]; rest != ""; {
		switch {
		case rest[0] == open[len(open)-1]:
			return out.String(), rest[1:], nil
		case rest[0] == '\\' && open == "$'":
			var char string
			char, rest = escape(rest)
			out.WriteString(char)
		case rest[0] == '\\' && open == `"` && len(rest) > 1 && strings.Contains("$`\"\\\n", rest[1:2]):
			if rest[1] != '\n' {
				out.WriteByte(rest[1])
			}
			rest = rest[2:]
		default:
			out.WriteByte(rest[0])
			rest = rest[1:]
		}
	}
	return "", "", fmt.Errorf("a quote %s is not closed", open)
}

// escapes are the escapes of one letter in $'…'.
var escapes = map[byte]string{
	'n': "\n", 't': "\t", 'r': "\r", 'a': "\a", 'b': "\b", 'e': "\x1b", 'E': "\x1b", 'f': "\f", 'v': "\v",
	'\\': "\\", '\'': "'", '"': `"`, '?': "?",
}

// coded is an escape with a number in $'…': the digits of a byte in octal or hexadecimal, or of a character.
var coded = regexp.MustCompile(`^\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(?:u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})))`)

// escape returns the meaning of the escape at the beginning of text, and the rest after it.
func escape(text string) (says, rest string) {
	if m := coded.FindStringSubmatch(text); m != nil {
		base, digits, char := 16, m[2]+m[3]+m[4], m[3]+m[4] != ""
		if m[1] != "" {
			base, digits = 8, m[1]
		}
		code, err := strconv.ParseUint(digits, base, 32)
		rest = text[len(m[0]):]
		switch {
		case err != nil: // the expression admits digits only, and no more than fit
			return "", rest
		case char:
			return string(rune(code)), rest
		}
		return string([]byte{byte(code)}), rest
	}
	if len(text) > 1 && escapes[text[1]] != "" {
		return escapes[text[1]], text[2:]
	}
	return text[:1], text[1:]
}

// FromCurl returns a file for the order that a command of curl places, with comments where its user must look.
func FromCurl(command string) (string, error) {
	c, err := parseCurl(command)
	if err != nil {
		return "", err
	}
	text, err := c.file()
	if err != nil {
		return "", fmt.Errorf("curl: %w", err)
	}
	return text, nil
}

// file returns a file for the order, with comments where its user must look.
func (c *draft) file() (string, error) {
	if !strings.Contains(c.address, "://") {
		c.address = "http://" + c.address
	}
	u, err := url.Parse(c.address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("address %q: want http://host:port/path or https://host:port/path", c.address)
	}
	_, value, _ := c.body()
	product, found := guess(value, "product_id", "productid", "product", "sku", "variant_id", "item_id", "id")
	if !found || hole.MatchString(product) {
		product = "1"
	}
	pieces := c.namePieces()
	c.before = slices.Clone(c.before[max(0, len(c.before)-mostSteps):])
	for i := range c.before { // they may fill a cart
		pieces = append(pieces, c.before[i].namePieces()...)
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "target: %s://%s\n", u.Scheme, u.Host)
	if c.insecure {
		b.WriteString("insecure: true # any certificate is good enough\n")
	} else if u.Scheme == "https" {
		b.WriteString("# insecure: true # accepts a certificate that this machine does not know\n")
	}
	fmt.Fprintf(b, "stock: {%s: 100} # the product's name in the books, and its pieces before the first order\n",
		quoted(product))
	b.WriteString(newReset)
	if steps := steps(u, c.before); steps != "" {
		b.WriteString("# buyer: # once for each order; the browser sent this before it\n" + steps)
	} else {
		b.WriteString(newBuyer)
	}
	if c.login {
		b.WriteString("# the order needs a login: write the buyer's steps above, and {{token}} into a header of the order\n")
	}
	lines, keyed, err := c.request(u)
	if err != nil {
		return "", err
	}
	b.WriteString("order:\n" + lines)
	switch {
	case len(pieces) > 1:
		b.WriteString("  # it has several items: write baskets, item and {{items}}\n")
	case len(pieces) == 1 && pieces[0] != "1":
		fmt.Fprintf(b, "  baskets: [{%s: %s}] # what each order buys\n", quoted(product), pieces[0])
	}
	if keyed {
		b.WriteString("  repeats: key # a repeat under the same key is the same order\n")
	} else {
		b.WriteString("  repeats: none # key, if a repeat of the same bytes is the same order; then put {{key}} into it\n")
	}
	b.WriteString("answers: # the first match counts; what none matches is unknown\n")
	if c.answers == "" {
		c.answers = newAnswers
	}
	b.WriteString(c.answers)
	if steps := steps(u, c.after[:min(len(c.after), mostSteps)]); steps != "" {
		b.WriteString("# then: # once for each order that is placed; the browser sent this. {{order}} is its id\n" + steps)
	} else {
		b.WriteString(newThen)
	}
	b.WriteString(newCancel + newBooks)
	return b.String(), nil
}

// mostSteps bounds the requests before an order, and after it.
const mostSteps = 5

// steps returns the requests to the host of an order as steps, which are comments, or "".
func steps(order *url.URL, requests []draft) (text string) {
	for _, c := range requests {
		u, err := url.Parse(c.address)
		if err != nil || u.Host != order.Host {
			continue
		}
		if lines, _, err := c.request(u); err == nil {
			step := "- " + strings.TrimPrefix(strings.TrimSuffix(lines, "\n"), "  ")
			text += "#   " + strings.ReplaceAll(step, "\n", "\n#   ") + "\n"
			if c.token != "" {
				text += "#     capture: {token: " + quoted(c.token) + "} # then {{token}} in the order\n"
			}
		}
	}
	return text
}

// body returns the text of the body, and its value if it is JSON.
func (c *draft) body() (text string, value any, isJSON bool) {
	text = strings.Join(c.data, map[bool]string{true: "", false: "&"}[c.json])
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	isJSON = decoder.Decode(&value) == nil && text != ""
	return text, value, isJSON
}

// pieceNames are names of a number of pieces. The first that a body has is the one: an amount may be a price.
var pieceNames = []string{"quantity", "qty", "pieces", "count", "amount"}

// namePieces puts {{pieces}} in the place of the number of pieces, if there is one, and returns all such numbers.
func (c *draft) namePieces() (numbers []string) {
	_, value, isJSON := c.body()
	pairs := &c.parts
	if len(c.data) > 0 && len(c.parts) == 0 && !isJSON && !c.json {
		c.data, pairs = strings.Split(strings.Join(c.data, "&"), "&"), &c.data
	}
	var put func()
	see := func(number string, do func()) {
		if n, err := ParsePieces(number); err == nil && n > 0 {
			numbers, put = append(numbers, n.String()), do
		}
	}
	for _, name := range pieceNames {
		fields(value, name, func(in map[string]any, key string) {
			switch number := in[key].(type) {
			case json.Number:
				see(number.String(), func() { in[key] = "{{pieces}}" })
			case string:
				see(number, func() { in[key] = "{{pieces|string}}" })
			}
		})
		for i, pair := range *pairs {
			if field, number, _ := strings.Cut(pair, "="); strings.EqualFold(field, name) {
				see(number, func() { (*pairs)[i] = field + "={{pieces}}" })
			}
		}
		if len(numbers) > 0 {
			break
		}
	}
	if len(numbers) == 1 {
		put()
		if text, err := json.Marshal(value); isJSON && err == nil {
			c.data = []string{string(text)}
		}
	}
	return numbers
}

// fields calls do for each object in a value of JSON that has a field of that name, in any case.
func fields(value any, name string, do func(in map[string]any, key string)) {
	switch value := value.(type) {
	case []any:
		for _, each := range value {
			fields(each, name, do)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if strings.EqualFold(key, name) {
				do(value, key)
			}
			fields(value[key], name, do)
		}
	}
}

// request returns the lines of the request to an address, and whether it has a key.
func (c *draft) request(u *url.URL) (lines string, keyed bool, err error) {
	body, value, isJSON := c.body()
	method := strings.ToLower(c.method)
	if method == "" {
		method = "get"
		if len(c.data)+len(c.parts) > 0 {
			method = "post"
		}
	}
	lines = fmt.Sprintf("  %s: %s\n", methodOf(method), quoted(u.RequestURI()))
	if !slices.Contains(methods, method) {
		lines += fmt.Sprintf("  method: %s\n", strings.ToUpper(method))
	}
	headers, keyed := c.kept(isJSON)
	if len(headers) > 0 {
		lines += "  headers:\n    " + strings.Join(headers, "\n    ") + "\n"
	}
	rest, err := c.bodyLines(body, value, isJSON)
	keyed = keyed || strings.Contains(strings.ToLower(rest), "idempotency") && strings.Contains(rest, "{{key}}")
	return lines + rest, keyed, err
}

var methods = []string{"get", "post", "put", "patch", "delete"}

func methodOf(method string) string {
	if slices.Contains(methods, method) {
		return method
	}
	return "url"
}

// kept returns the headers as lines, and whether one is a key.
func (c *draft) kept(isJSON bool) (lines []string, keyed bool) {
	for _, header := range c.headers {
		name, value, _ := strings.Cut(header, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		lower := strings.ToLower(name)
		note := ""
		switch {
		case lower == "content-length" || lower == "host" || lower == "accept-encoding" || lower == "connection":
			continue
		case lower == "content-type" && isJSON && strings.HasPrefix(value, "application/json"):
			continue
		case lower == "content-type" && len(c.parts) > 0: // it has a boundary
			continue
		case strings.Contains(lower, "idempotency"):
			value, keyed = "{{key}}", true
		case lower == "authorization" || lower == "cookie":
			note = " # if each order needs its own buyer, log in under buyer and write {{token}} here"
		}
		lines = append(lines, quoted(name)+": "+quoted(value)+note)
	}
	return lines, keyed
}

// bodyLines returns the body as a part of the order.
func (c *draft) bodyLines(body string, value any, isJSON bool) (string, error) {
	if len(c.parts) > 0 {
		return partLines(c.parts)
	}
	if isJSON {
		text, err := json.Marshal(value)
		if err == nil {
			return "  json: " + string(text) + "\n", nil
		}
	}
	if body == "" {
		return "", nil
	}
	form, err := url.ParseQuery(body)
	if err != nil || !strings.Contains(body, "=") {
		return "  body: " + quoted(body) + "\n", nil //nolint:nilerr // it is no form then
	}
	lines := "  form:\n"
	for pair := range strings.SplitSeq(body, "&") {
		escaped, _, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(escaped)
		if err != nil || len(form[name]) == 0 {
			continue
		}
		values := make([]string, len(form[name]))
		for i, value := range form[name] {
			values[i] = quoted(value)
		}
		text := values[0]
		if len(values) > 1 {
			text = "[" + strings.Join(values, ",") + "]"
		}
		lines += "    " + quoted(name) + ": " + text + "\n"
		delete(form, name)
	}
	return lines, nil
}

// partLines returns the fields of a form with parts.
func partLines(parts []string) (lines string, err error) {
	fields, names := map[string][]string{}, []string{}
	for _, part := range parts {
		name, value, found := strings.Cut(part, "=")
		if !found || strings.HasPrefix(value, "@") || strings.HasPrefix(value, "<") {
			return "", fmt.Errorf("-F %q: a file in a form cannot be described: write its text as name=value", part)
		}
		if fields[name] == nil {
			names = append(names, name)
		}
		fields[name] = append(fields[name], quoted(value))
	}
	lines = "  multipart:\n"
	for _, name := range names {
		lines += "    " + quoted(name) + ": " + fields[name][0] + "\n"
		if len(fields[name]) > 1 {
			lines = strings.TrimSuffix(lines, fields[name][0]+"\n") + "[" + strings.Join(fields[name], ",") + "]\n"
		}
	}
	return lines, nil
}

// guess returns the first value under one of the names in a value of JSON.
func guess(value any, names ...string) (text string, found bool) {
	for _, name := range names {
		if text, found = find(value, name); found {
			return text, true
		}
	}
	return "", false
}

func find(value any, name string) (string, bool) {
	switch value := value.(type) {
	case []any:
		for _, each := range value {
			if text, found := find(each, name); found {
				return text, true
			}
		}
	case map[string]any:
		for key, each := range value {
			_, list := each.([]any)
			_, object := each.(map[string]any)
			if strings.EqualFold(key, name) && !list && !object && each != nil {
				return plain(each), true
			}
		}
		for _, each := range value {
			if text, found := find(each, name); found {
				return text, true
			}
		}
	}
	return "", false
}

// quoted returns text as YAML.
func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		return text
	}
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(out))
}

const newReset = `# reset: # brings the stock there before each phase; without it, only one phase can be judged
#   - sql: UPDATE products SET stock = 100 WHERE id = 1
`

const newBuyer = `# buyer: # once for each order, before: register, log in, fill the cart
#   - post: /login
#     json: {email: "{{key}}@example.com", password: Secret-123}
#     capture: {token: $.access_token}
`

const newAnswers = `  - {status: [200, 201], means: accepted, order: $.id} # where the order's id is in the answer
  - {status: [400, 409, 422], contains: [stock, sold out], means: rejected} # the text of the refusal
`

const newThen = `# then: # after the order, once for each one that is placed: pay, confirm, ask until it ends
#   - post: /orders/{{order}}/pay
#     json: {card: tok_visa}
#   - get: /orders/{{order}} # if the payment may fail, the answer above means pending, and this one decides
#     poll: true
#     answers: [{$.status: PAID, means: accepted}, {$.status: [FAILED, EXPIRED], means: rejected}]
`

const newCancel = `# cancel: {delete: "/orders/{{order}}"} # then some orders are cancelled, too
`

const newBooks = `# books: # what the databases say; without them the answers alone are judged
#   dsn: postgres://shop@127.0.0.1/shop # or mysql://…, sqlite:shop.db, redis://…
#   stock: SELECT id AS product, stock AS pieces FROM products
#   orders: SELECT o.id, i.product_id AS product, i.quantity AS pieces, o.status AS state
#     FROM orders o JOIN order_items i ON i.order_id = o.id
#   sold: [CONFIRMED, PAID]
#   void: [CANCELLED]
# service: {start: exec ./server, ready: /health} # for kills: a command, or container: NAME
`
