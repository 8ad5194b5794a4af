package system

import (
	"context"
	"fmt"
	"io"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics reads the metrics that a process serves at url, by name, summed over their labels. A histogram counts its
// observations.
func Metrics(ctx context.Context, client *http.Client, url string) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // read-only
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(resp.Body, 4<<20))
	if err != nil {
		return nil, fmt.Errorf("read metrics of %s: %w", url, err)
	}
	sums := make(map[string]float64, len(families))
	for name, family := range families {
		for _, m := range family.GetMetric() {
			sums[name] += valueOf(m)
		}
	}
	return sums, nil
}

func valueOf(m *dto.Metric) float64 {
	if h := m.GetHistogram(); h != nil {
		return float64(h.GetSampleCount())
	}
	return m.GetCounter().GetValue() + m.GetGauge().GetValue()
}

// Metrics reads the service's metrics, as the function Metrics does.
func (s *Service) Metrics(ctx context.Context) (map[string]float64, error) {
	return Metrics(ctx, http.DefaultClient, "http://"+s.OpsAddr+"/metrics")
}
