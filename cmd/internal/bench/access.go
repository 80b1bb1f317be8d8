package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cluster/figures"
	"github.com/berth-gpu/berth/cmd/internal/devcluster"
)

// users is the number of users that submit.
const users = 15

func userOf(i int) string { return fmt.Sprintf("user%d", i%users) }

// keyOf returns the key of a user in a cluster with authentication.
func keyOf(user string) string { return "key-of-the-benchmark-" + user }

// keeper is the user that checks whether the cluster is ready.
const keeper = "keeper"

// guarded returns the configuration of a cluster that authenticates callers, counts their requests
// and checks commands by ten rules.
func guarded(dir string) (c devcluster.Config, err error) {
	var keys, rules strings.Builder
	fmt.Fprintf(&keys, "auth:\n  api_keys:\n    %q: {user: %s, role: admin}\n", keyOf(keeper), keeper)
	for i := range users {
		fmt.Fprintf(&keys, "    %q: {user: %s, role: user}\n", keyOf(userOf(i)), userOf(i))
	}
	rules.WriteString("forbidden:\n")
	for i := range 10 {
		fmt.Fprintf(&rules, "  - {name: rule-%d, pattern: '(^|[;&| ])forbidden%d\\b'}\n", i, i)
	}
	for name, text := range map[string]string{"keys.yaml": keys.String(), "rules.yaml": rules.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return c, err
		}
	}
	return devcluster.Config{Token: keyOf(keeper), Server: []string{
		"--auth", "--auth-keys", filepath.Join(dir, "keys.yaml"), "--command-rules", filepath.Join(dir, "rules.yaml"), "--rate-limit", "1000000",
	}}, nil
}

// access measures submissions with and without authentication, in turn, so that other load of the
// machine affects both.
func (r *runner) access(ctx context.Context) (*figures.Table, error) {
	out := &figures.Table{
		Title: fmt.Sprintf("Submissions to a cluster with authentication, and to one without: medians of %d runs of %s", r.Runs, r.Time),
		Head: []string{
			"clients", "open, a second", "asking", "least to most of the ratios", "ratio", "open, p50", "asking", "open, CPU each", "asking", "refused",
		},
	}
	return out, r.compare(ctx, out, "access", way{asked: true})
}

// compare measures submissions the usual way and another, in turn, and adds a row for each number of clients.
func (r *runner) compare(ctx context.Context, out *figures.Table, part string, other way) error {
	for _, clients := range r.Clients {
		if err := comparePoint(ctx, r, out, clients, part, other); err != nil {
			return err
		}
	}
	return nil
}

func comparePoint(ctx context.Context, r *runner, out *figures.Table, clients int, part string, other way) error {
	var rates [2][]float64
	var all [2][]time.Duration
	var cpu [2]time.Duration
	var ratios []float64
	refused := 0
	for n := range r.Runs {
		for i, how := range []way{{}, other} {
			r.say("%s: %d clients, run %d of %d, %+v", part, clients, n+1, r.Runs, how)
			l, err := r.submitRun(ctx, clients, false, how)
			if err != nil {
				return err
			}
			rates[i] = append(rates[i], float64(len(l.latencies))/r.Time.Seconds())
			all[i] = append(all[i], l.latencies...)
			cpu[i] += l.cpu
			refused += l.refused
		}
		ratios = append(ratios, rates[1][n]/rates[0][n])
	}
	each := func(i int) string { return fmt.Sprintf("%d µs", cpu[i].Microseconds()/int64(max(1, len(all[i])))) }
	open, asking := figures.Median(rates[0]), figures.Median(rates[1])
	ratio, least, most := figures.Spread(ratios)
	out.Add(fmt.Sprint(clients), figures.Count(open), figures.Count(asking), fmt.Sprintf("%.2f to %.2f", least, most), fmt.Sprintf("%.2f", ratio),
		figures.At(all[0], 50), figures.At(all[1], 50), each(0), each(1), fmt.Sprint(refused))
	return nil
}
