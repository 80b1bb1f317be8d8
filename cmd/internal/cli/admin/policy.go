package admin

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const policyLong = `Without arguments: show the order of the queue, the alternatives, and the parameters.
With a name: order the queue by that policy from now on, on every peer and across restarts.`

func newPolicy() *cobra.Command {
	c := &cli.Connection{}
	var set []string
	cmd := &cobra.Command{
		Use:     "policy [NAME]",
		Short:   "Show, choose or tune the order of the queue",
		Long:    policyLong,
		Example: "  berth policy\n  berth policy priority\n  berth policy --set half_life=72h --set share_weight=50",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 || len(set) > 0 {
			body, err := policyBody(args, set)
			if err != nil {
				return err
			}
			api, err := c.Dial()
			if err != nil {
				return err
			}
			if _, err := api.SetPolicy(cmd.Context(), body); err != nil {
				return err
			}
		}
		ask := func(ctx context.Context, api *client.Client) (*wire.Policies, error) { return api.Policies(ctx) }
		return cli.Reading(c, ask, showPolicies)(cmd, nil)
	}
	c.BindReading(cmd)
	cmd.Flags().StringArrayVar(&set, "set", nil, "tune a parameter, `name=value`; may repeat")
	return cmd
}

func policyBody(args, set []string) (*wire.SetPolicy, error) {
	body := &wire.SetPolicy{}
	if len(args) > 0 {
		body.Policy = args[0]
	}
	for _, pair := range set {
		name, value, found := strings.Cut(pair, "=")
		if !found {
			return nil, cmdline.Usage("--set %s must be name=value; see berth policy for the names", pair)
		}
		if _, twice := body.Parameters[name]; twice {
			return nil, cmdline.Usage("--set %s is given twice: give one value", name)
		}
		if body.Parameters == nil {
			body.Parameters = map[string]string{}
		}
		body.Parameters[name] = value
	}
	return body, nil
}

// shortTime formats a time as berth config does, and returns other values unchanged.
func shortTime(value string) string {
	if d, err := time.ParseDuration(value); err == nil && d > 0 {
		return config.Short(d)
	}
	return value
}

func showPolicies(w io.Writer, p *wire.Policies) error {
	t := table.New("POLICY", "ORDER")
	for _, v := range p.Policies {
		name := v.Name
		if name == p.Policy {
			name += " *"
		}
		t.Add(name, v.What)
	}
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	fmt.Fprintln(w, "\n* in force")
	fmt.Fprintln(w)
	t = table.New("PARAMETER", "VALUE", "ALLOWED", "WHAT IT DOES")
	for _, v := range p.Parameters {
		t.Add(v.Name, shortTime(v.Value), v.Range, v.What)
	}
	if _, err := t.WriteTo(w); err != nil || len(p.Predictions) == 0 {
		return err
	}
	fmt.Fprintln(w)
	t = table.New("PREDICTED BY", ">RUNS", ">WITHIN FACTOR 2", ">MEAN FACTOR OFF")
	for _, v := range p.Predictions {
		t.Add(v.Source, fmt.Sprint(v.Attempts), fmt.Sprintf("%.0f %%", 100*float64(v.WithinFactorTwo)/float64(v.Attempts)),
			fmt.Sprintf("%.2f", v.MeanErrorFactor))
	}
	_, err := t.WriteTo(w)
	return err
}
