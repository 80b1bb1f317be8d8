package jobs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/fsm/model"
)

// gigabytes parses "80", "80G" or "80GB".
func gigabytes(flag, text string) (*float64, error) {
	if text == "" {
		return nil, nil
	}
	number := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "G")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || v <= 0 {
		return nil, cli.Usage("%s must be a number of GB, not %q", flag, text)
	}
	return &v, nil
}

// parsePriority parses a class by name or number.
func parsePriority(text string) (int64, error) {
	for c := model.ClassLow; c <= model.ClassCritical; c++ {
		if strings.EqualFold(text, c.String()) {
			return int64(c), nil
		}
	}
	n, err := strconv.ParseInt(text, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("must be low, normal, high, critical or a number, not %q", text)
	}
	return n, nil
}
