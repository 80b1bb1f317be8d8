package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// placing holds the flags that choose nodes for a job.
type placing struct {
	constraint, nodelist, exclude, placement string
	minGPUs                                  int64
}

func (p *placing) bindPlacing(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&p.constraint, "constraint", "C", "", "only on nodes with these `labels`: zone=a, zone!=a, ssd or !spot, joined by commas")
	f.StringVarP(&p.nodelist, "nodelist", "w", "", "only on these `nodes`: n1,n2 or n[1-4]")
	f.StringVarP(&p.exclude, "exclude", "x", "", "not on these `nodes`")
	f.Int64Var(&p.minGPUs, "min-gpus", 0, "take fewer GPUs if not all are available, but at least `N`; with --nodes whole nodes fewer")
	f.StringVar(&p.placement, "placement", "", "`strategy` to choose among suitable nodes: best_fit, spread, round_robin, least_loaded (default: see berth policy)")
}

// fillPlacing copies the flags into a submission.
func (p *placing) fillPlacing(cmd *cobra.Command, r *wire.Submit) error {
	if _, err := model.ParseConstraint(p.constraint); err != nil {
		return usage("--constraint %w", err)
	}
	r.Constraint, r.Placement, r.MinGPUs = p.constraint, p.placement, optional(cmd, "min-gpus", &p.minGPUs)
	for _, v := range []struct {
		flag, text string
		to         *[]string
	}{{"--nodelist", p.nodelist, &r.Nodelist}, {"--exclude", p.exclude, &r.Exclude}} {
		list, err := model.ParseNodes(v.text)
		if err != nil {
			return usage("%s %w", v.flag, err)
		}
		*v.to = list
	}
	return nil
}

// whereOf returns the nodes on which a job may run, in words; empty: any.
func whereOf(j *wire.Job) string {
	w := model.Where{Constraint: j.Constraint, Nodelist: strings.Join(j.Nodelist, ","), Exclude: strings.Join(j.Exclude, ",")}
	if text := w.String(); text != "" {
		return "nodes " + text
	}
	return ""
}

// gpusOf returns how many GPUs a job asks for, or has of them: "4 of 8".
func gpusOf(j *wire.Job) string {
	text := strconv.FormatInt(j.GPUs, 10)
	if has := len(j.AllocatedGPUs); has > 0 && int64(has) < j.GPUs {
		return strconv.Itoa(has) + " of " + text
	}
	return text
}

const labelLong = `Label a node: KEY=VALUE, or KEY alone, gives it a label; KEY- takes one away.

These labels win over those that the node's agent reports (berth agent --label), and stay
when the node registers again. Jobs ask for labels by --constraint; running jobs continue.`

func newLabel() *cobra.Command {
	c := &connection{}
	cmd := &cobra.Command{
		Use:     "label NODE KEY=VALUE|KEY|KEY-...",
		Short:   "Label a node, for jobs that ask for labels",
		Long:    labelLong,
		Example: "  berth node label gpu1 zone=a ssd\n  berth node label gpu1 spot-",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage("%s takes a node, and labels such as zone=a or zone-", cmd.CommandPath())
			}
			body, err := labelsBody(args[1:])
			if err != nil {
				return err
			}
			api, err := c.dial()
			if err != nil {
				return err
			}
			done, err := api.Operator().SetNodeLabels(cmd.Context(), args[0], body)
			if err != nil {
				return fmt.Errorf("node %s: %w", args[0], err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", args[0], done.Message)
			return err
		},
	}
	c.bind(cmd)
	return cmd
}

func labelsBody(args []string) (*wire.SetLabels, error) {
	all, err := model.ParseLabels(strings.Join(args, ","))
	if err != nil {
		return nil, usage("labels %w", err)
	}
	body := &wire.SetLabels{Set: map[string]string{}}
	for _, v := range all {
		if v.Gone {
			body.Remove = append(body.Remove, v.Key)
		} else {
			body.Set[v.Key] = v.Value
		}
	}
	return body, nil
}

// labelsOf formats a node's labels as users write them.
func labelsOf(n *wire.Node) string {
	var all model.Labels
	for key, value := range n.Labels { // order-free: With sorts
		all = all.With(model.Label{Key: key, Value: value})
	}
	return strings.ReplaceAll(all.String(), ",", ", ")
}
