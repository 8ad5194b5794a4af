package console

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// maxRequest bounds a request, in bytes.
const maxRequest = 16 << 20

// ServeHTTP receives spans: POST /v1/traces of OTLP over HTTP, as protobuf.
func (s *Traces) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if kind := r.Header.Get("Content-Type"); kind != "application/x-protobuf" {
		http.Error(w, "send application/x-protobuf, not "+kind+": set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
			http.StatusUnsupportedMediaType)
		return
	}
	body := io.Reader(http.MaxBytesReader(w, r.Body, maxRequest))
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, "read spans: "+err.Error(), http.StatusBadRequest)
			return
		}
		body = io.LimitReader(unzipped, maxRequest)
	}
	var request wire.TracesData // the same on the wire as the collector's request, whose package needs all of gRPC
	raw, err := io.ReadAll(body)
	if err == nil {
		err = proto.Unmarshal(raw, &request)
	}
	if err != nil {
		http.Error(w, "read spans: "+err.Error(), http.StatusBadRequest)
		return
	}
	s.Add(request.GetResourceSpans())
	w.Header().Set("Content-Type", "application/x-protobuf")
	// An empty message means that all spans were accepted.
	w.WriteHeader(http.StatusOK)
}

// Read adds the spans of a file that has an export of OTLP as JSON on each line.
func (s *Traces) Read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxRequest)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var export wire.TracesData
		line, err := base64IDs(lines.Bytes())
		if err == nil {
			err = (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(line, &export)
		}
		if err != nil {
			return fmt.Errorf("line %d is not OTLP as JSON: %w", n, err)
		}
		s.Add(export.GetResourceSpans())
	}
	return lines.Err()
}

// hexIDs finds the ids in a line of OTLP, which writes them in hex; protobuf's JSON expects base64.
var hexIDs = regexp.MustCompile(`"(traceId|spanId|parentSpanId)"\s*:\s*"([0-9a-fA-F]*)"`)

func base64IDs(line []byte) (_ []byte, err error) {
	line = hexIDs.ReplaceAllFunc(line, func(found []byte) []byte {
		part := hexIDs.FindSubmatch(found)
		raw, e := hex.DecodeString(string(part[2]))
		err = errors.Join(err, e)
		return fmt.Appendf(nil, `"%s":"%s"`, part[1], base64.StdEncoding.EncodeToString(raw))
	})
	return line, err
}

// Exporter adds the spans of this process to the store.
func (s *Traces) Exporter() *otlptrace.Exporter { return otlptrace.NewUnstarted(direct{s}) }

type direct struct{ store *Traces }

func (direct) Start(context.Context) error { return nil }

func (direct) Stop(context.Context) error { return nil }

func (d direct) UploadTraces(_ context.Context, spans []*wire.ResourceSpans) error {
	d.store.Add(spans)
	return nil
}
