package fleet

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const labelLong = `Label a node: KEY=VALUE, or KEY alone, gives it a label; KEY- takes one away.

These labels win over those that the node's agent reports (berth agent --label), and stay
when the node registers again. Jobs ask for labels by --constraint; running jobs continue.`

func newLabel() *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use:     "label NODE KEY=VALUE|KEY|KEY-...",
		Short:   "Label a node, for jobs that ask for labels",
		Long:    labelLong,
		Example: "  berth node label gpu1 zone=a ssd\n  berth node label gpu1 spot-",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cmdline.Usage("%s takes a node, and labels such as zone=a or zone-", cmd.CommandPath())
			}
			body, err := labelsBody(args[1:])
			if err != nil {
				return err
			}
			api, err := c.Dial()
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
	c.Bind(cmd)
	return cmd
}

func labelsBody(args []string) (*wire.SetLabels, error) {
	all, err := model.ParseLabels(strings.Join(args, ","))
	if err != nil {
		return nil, cmdline.Usage("labels %w", err)
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
