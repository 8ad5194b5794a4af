package judge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"orderstock/loadtest/judge/shell"
	"orderstock/loadtest/judge/shop"
)

// reset does the steps of the file's reset. What they capture are variables of the phase.
func (p *phase) reset(ctx context.Context) error {
	session := p.sender.Session()
	for i := range p.f.Reset {
		s := &p.f.Reset[i]
		var err error
		switch {
		case len(s.SQL) > 0:
			err = p.resetSQL(ctx, s)
		case s.Command != "":
			err = p.resetCommand(ctx, s.Command)
		case s.Restart:
			if err = p.service.kill(ctx); err == nil {
				err = p.service.start(ctx)
			}
		default:
			each := []shop.Vars{{}}
			if s.Each == "stock" {
				each = p.eachProduct()
			}
			for _, vars := range each {
				captured, failed := p.step(ctx, session, &s.Request, p.vars.With(vars))
				if failed != nil {
					return errors.New(failed.problem())
				}
				p.vars = p.vars.With(captured)
			}
		}
		if err != nil {
			return err
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

func (p *phase) resetSQL(ctx context.Context, s *shop.Step) error {
	dsn := s.DSN
	if dsn == "" {
		dsn = p.f.Books.DSN
	}
	statements := make([]string, len(s.SQL))
	for i, statement := range s.SQL {
		var err error
		if statements[i], err = p.vars.Text(statement); err != nil {
			return err
		}
	}
	return p.reader.Exec(ctx, dsn, statements)
}

func (p *phase) resetCommand(ctx context.Context, command string) error {
	line, err := p.vars.Text(command)
	if err != nil {
		return err
	}
	if _, err := shell.Run(ctx, p.f.Dir, line, ""); err != nil {
		return fmt.Errorf("command %q: %w", line, err)
	}
	return nil
}
