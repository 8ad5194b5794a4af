package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"orderstock/loadtest/judge/shell"
	"orderstock/loadtest/judge/shop"
)

// reset does the steps of the file's reset. What they capture are variables of the phase.
func (p *phase) reset(ctx context.Context) error {
	session := p.sender.Session()
	for i := range p.f.Reset {
		s := &p.f.Reset[i]
		if s.Restart {
			open, err := p.service.reach(ctx)
			if err == nil {
				err = p.service.kill(ctx, open)
			}
			if err != nil {
				return err
			}
			if err := p.service.start(ctx); err != nil {
				return err
			}
			continue
		}
		each := []shop.Vars{{}}
		if s.Each == "stock" {
			each = p.eachProduct()
		}
		for _, vars := range each {
			captured, failed := p.step(ctx, session, s, p.vars.With(vars))
			if failed != nil {
				return errors.New(failed.problem())
			}
			p.vars = p.vars.With(captured)
		}
	}
	return nil
}

// problem describes a step that failed.
func (c *Call) problem() string {
	if c.Failure != "" {
		return c.Failure
	}
	return fmt.Sprintf("%s was answered %d %s", c.Note, c.Status, c.Body)
}

// eachProduct returns the variables of a request for each product.
func (p *phase) eachProduct() (each []shop.Vars) {
	for _, name := range slices.Sorted(maps.Keys(p.f.Stock)) {
		if product, err := p.vars.Text(name); err == nil { // else a later step captures its name
			each = append(each, shop.Vars{"product": product, "pieces": p.f.Stock[name]})
		}
	}
	return each
}

// inside does a step that is no request, and returns its captures: from the first row that its last statement
// returns, as a value of JSON, or from the command's output.
func (p *phase) inside(ctx context.Context, s *shop.Step, vars shop.Vars) (shop.Vars, error) {
	out := &shop.Answer{Status: http.StatusOK}
	if s.Command != "" {
		line, err := vars.Text(s.Command)
		if err != nil {
			return nil, err
		}
		text, err := shell.Run(ctx, p.f.Dir, line, "")
		if err != nil {
			return nil, fmt.Errorf("command %q: %w", line, err)
		}
		out.Body = []byte(strings.TrimSpace(text))
		return capture(&s.Request, out, vars)
	}
	statements := make([]string, len(s.SQL))
	for i, statement := range s.SQL {
		var err error
		if statements[i], err = vars.Text(statement); err != nil {
			return nil, err
		}
	}
	dsn := s.DSN
	if dsn == "" {
		dsn = p.f.Books.DSN
	}
	if len(s.Capture) == 0 {
		return nil, p.reader.Exec(ctx, dsn, statements)
	}
	last := len(statements) - 1
	if err := p.reader.Exec(ctx, dsn, statements[:last]); err != nil {
		return nil, err
	}
	row, err := p.reader.Row(ctx, dsn, statements[last])
	if err != nil {
		return nil, err
	}
	if out.Body, err = json.Marshal(row); err != nil {
		return nil, fmt.Errorf("sql %q: %w", statements[last], err)
	}
	return capture(&s.Request, out, vars)
}
