package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"

	"orderstock/loadtest/console"
	"orderstock/loadtest/fire"
	"orderstock/pkg/command"
)

// addressFile is the file with a running console's address, in its folder of runs.
const addressFile = "console.url"

func traceCommand() *cobra.Command {
	var at struct {
		From string `flag:"from" help:"address of a console as it printed it, or a file (default the console that runs here)"`
		Out  string `flag:"out" default:"out" help:"the console's folder"`
	}
	cmd := &cobra.Command{
		Use:   "trace ORDER",
		Short: "Print the steps of an order that was traced, as a tree",
		Long: `Print the steps of an order that was traced, as a tree.

The spans come from a console, which keeps the last orders': the running one,
or the one at --from. They may also come from a file with a line of OTLP as
JSON for each export, as the file exporter of OpenTelemetry's Collector writes it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if at.From == "" {
				address, err := os.ReadFile(filepath.Join(at.Out, addressFile))
				if err != nil {
					return errors.New("no console runs here: start one with \"make console\", " +
						"or name an address or a file with --from")
				}
				at.From = strings.TrimSpace(string(address))
			}
			spans, err := readSpans(cmd.Context(), at.From, args[0])
			if err != nil {
				return err
			}
			if len(spans) == 0 {
				return fmt.Errorf("order %s has no spans there: it was not traced, or is forgotten; trace more with "+
					"\"loadtest fire --trace-sample\", or send the order from the console's page", args[0])
			}
			return console.WriteSpans(cmd.OutOrStdout(), spans)
		},
	}
	addFlags(cmd.Flags(), &at)
	return cmd
}

// readSpans returns the spans of an order from a console or a file.
func readSpans(ctx context.Context, from, order string) ([]console.Span, error) {
	if !strings.HasPrefix(from, "http://") && !strings.HasPrefix(from, "https://") {
		file, err := os.Open(from)
		if err != nil {
			return nil, fmt.Errorf("read spans: %w", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		store := console.NewTraces()
		if err := store.Read(file); err != nil {
			return nil, fmt.Errorf("read spans from %s: %w", from, err)
		}
		return store.Order(order), nil
	}
	at, err := url.Parse(from)
	if err != nil {
		return nil, fmt.Errorf("--from %q: %w", from, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	target := at.Scheme + "://" + at.Host + "/api/orders/" + url.PathEscape(order)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, fmt.Errorf("--from %q: %w", from, err)
	}
	req.Header.Set("Authorization", "Bearer "+at.Query().Get("token"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the console: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("ask the console: %w", err)
	}
	var told struct {
		Detail string         `json:"detail"`
		Spans  []console.Span `json:"spans"`
	}
	if err := json.Unmarshal(body, &told); err != nil {
		return nil, fmt.Errorf("%s://%s is not a console: %s", at.Scheme, at.Host, resp.Status)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the console says: %s", told.Detail)
	}
	return told.Spans, nil
}

// tracer returns the tracer of a share of the orders, or nil if the flag --trace-sample is not given.
func tracer(ctx context.Context, f *pflag.FlagSet, share float64) (*fire.Tracer, error) {
	if !f.Changed("trace-sample") {
		return nil, nil //nolint:nilnil // documented
	}
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return nil, command.Misuse(errors.New("--trace-sample: set OTEL_EXPORTER_OTLP_ENDPOINT to where spans are " +
			"received, such as http://127.0.0.1:4318, here and for the services"))
	}
	export, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("--trace-sample: %w", err)
	}
	return fire.NewTracer(share, export)
}
