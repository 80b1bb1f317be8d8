package root

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const configLong = `Show, check and explain settings.

A setting has a name in a file (server.http), a variable (BERTH_SERVER_HTTP) and mostly a
flag (--http). The file wins over defaults, the environment over the file, flags over all.
Settings of the whole cluster take effect when the cluster is founded; from then on
berth config set changes them, on all peers at once.`

func newConfig() *cobra.Command {
	return cli.Parent("config", "Show, check and explain settings, and change those of the whole cluster", configLong,
		newConfigShow(), newConfigSet(), newConfigExplain(), newConfigExample())
}

func newConfigExplain() *cobra.Command {
	one := cli.One("one argument, a setting's name, variable or flag")
	return &cobra.Command{
		Use:     "explain NAME",
		Short:   "Explain a setting",
		Example: "  berth config explain server.http\n  berth config explain PORT\n  berth config explain --http",
		// The flag of a setting is a name here.
		DisableFlagParsing: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "--" {
				args = args[1:]
			}
			return one(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "--" {
				args = args[1:]
			}
			if args[0] == "--help" || args[0] == "-h" {
				return cmd.Help()
			}
			text, err := config.Explain(args[0])
			if err != nil {
				return cmdline.NotFound("%v; berth config show lists all", err)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
}

func newConfigExample() *cobra.Command {
	return &cobra.Command{
		Use:   "example",
		Short: "Print a file that holds every setting, commented out",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), config.Example())
			return err
		},
	}
}

func newConfigSet() *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use:     "set NAME=VALUE...",
		Short:   "Change settings of the whole cluster",
		Example: "  berth config set jobs.max_retries=3 scheduling.max_queue_size=1000",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		body := &wire.SetSettings{Settings: map[string]string{}}
		for _, pair := range args {
			name, value, found := strings.Cut(pair, "=")
			if _, twice := body.Settings[name]; twice || !found {
				return cmdline.Usage("%s must be NAME=VALUE, each name once", pair)
			}
			body.Settings[name] = value
		}
		if len(args) == 0 {
			return cmdline.Usage("give at least one NAME=VALUE; berth config show --cluster lists the names")
		}
		if err := c.CheckOutput(); err != nil {
			return err
		}
		api, err := c.Dial()
		if err != nil {
			return err
		}
		answer, err := api.Operator().SetSettings(cmd.Context(), body)
		if err != nil {
			return err
		}
		return c.Print(cmd.OutOrStdout(), answer, func(w io.Writer) error {
			t := table.New("SETTING", "VALUE")
			for _, v := range answer.Settings {
				if _, named := body.Settings[v.Name]; named {
					t.Add(v.Name, v.Value)
				}
			}
			_, err := t.WriteTo(w)
			return err
		})
	}
	c.BindReading(cmd)
	return cmd
}

const showLong = `Show each setting's value here and where it comes from: file, environment or default.

--cluster shows the values in force in the cluster, and --diff only settings that are given
here and differ from those: they have no effect, since the cluster was founded with another
value or was changed since.`

// configShow holds the flags of berth config show.
type configShow struct {
	cli.Connection

	file                string
	cluster, diff, mine bool
}

func newConfigShow() *cobra.Command {
	c := &configShow{}
	cmd := &cobra.Command{Use: "show", Short: "Show each setting's value, and where it comes from", Long: showLong, Args: cli.NoArgs}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.CheckOutput(); err != nil {
			return err
		}
		return c.run(cmd)
	}
	c.BindReading(cmd)
	cmd.Flags().StringVar(&c.file, "config", "", "YAML `file` with settings (default: $BERTH_CONFIG, $CONFIG_PATH, or config.yaml here if it is there)")
	cmd.Flags().BoolVar(&c.cluster, "cluster", false, "the values in force in the cluster")
	cmd.Flags().BoolVar(&c.diff, "diff", false, "only settings that are given here and differ from the values in force in the cluster")
	cmd.Flags().BoolVar(&c.mine, "given", false, "only settings that differ from their default")
	return cmd
}

// shownSetting is a setting as berth config show prints it.
type shownSetting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	From    string `json:"from"`
	Where   string `json:"where,omitempty"`
	InForce string `json:"in_force,omitempty"`
}

func (c *configShow) run(cmd *cobra.Command) error {
	settings, err := config.Load(config.Source{
		Program: config.OfServer | config.OfAgent | config.OfClient, File: c.file, Environ: os.Environ(),
	})
	if err != nil {
		return cmdline.Usage("%w", err)
	}
	force := map[string]string{}
	if c.cluster || c.diff {
		api, err := c.Dial()
		if err != nil {
			return err
		}
		answer, err := api.Operator().Settings(cmd.Context())
		if err != nil {
			return err
		}
		for _, v := range answer.Settings {
			force[v.Name] = v.Value
		}
	}
	var rows []shownSetting
	for _, row := range settings.Rows() {
		from := settings.Origin(row.Name)
		now, shared := force[row.Name]
		switch given := from.Layer != config.FromDefault; {
		case c.mine && !given, c.cluster && !shared, c.diff && (!given || !shared || now == row.Value.Text()):
		default:
			rows = append(rows, shownSetting{row.Name, row.Shown(), from.Layer.String(), from.Where, now})
		}
	}
	return c.Print(cmd.OutOrStdout(), rows, func(w io.Writer) error { return showSettings(w, rows, len(force) > 0, settings.Notes) })
}

func showSettings(w io.Writer, rows []shownSetting, force bool, notes []string) error {
	headings := []string{"SETTING", "VALUE", "FROM"}
	if force {
		headings = append(headings, "IN FORCE")
	}
	t := table.New(headings...)
	for _, r := range rows {
		from := r.From
		if r.Where != "" {
			from = r.Where
		}
		cells := []string{r.Name, r.Value, from}
		if force {
			cells = append(cells, r.InForce)
		}
		t.Add(cells...)
	}
	_, err := t.WriteTo(w)
	for _, note := range notes {
		_, more := fmt.Fprintln(w, note)
		err = errors.Join(err, more)
	}
	return err
}
