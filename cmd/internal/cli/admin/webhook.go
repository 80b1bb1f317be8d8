package admin

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const webhookLong = `Send events to addresses, and show the webhooks and their deliveries.

Failed deliveries are retried for three days at growing intervals, and are signed by the
standard-webhooks specification. docs/notifications.md has the events, the bodies, and a
template for Slack.`

func newWebhook() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "webhook",
		Short:   "Send events to an address",
		Long:    webhookLong,
		Example: "  berth webhook add https://example.com/hook --event failed,lost --user alice\n  berth webhook test wh_1f0c\n  berth webhook log wh_1f0c",
		Args:    cli.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newWebhookAdd(), newWebhookList(), newWebhookRemove(), newWebhookTest(), newWebhookLog(), newWebhookSettings())
	return cmd
}

// maxTemplate bounds the size of a template that is read, in bytes; the cluster has a lower bound.
const maxTemplate = 1 << 20

func newWebhookAdd() *cobra.Command {
	c := &cli.Connection{}
	body := &wire.SetWebhook{}
	var template string
	cmd := &cobra.Command{
		Use:   "add URL",
		Short: "Send events to an address; the answer holds the secret, which is shown only once",
		Args:  cli.One("one URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			body.URL = args[0]
			if template != "" {
				text, err := cmdline.ReadInput(cmd.Context(), template, maxTemplate, cmd.ErrOrStderr())
				if err == nil {
					err = cmdline.UTF8Text(string(text))
				}
				if err != nil {
					return fmt.Errorf("cannot take the template %s: %w", template, err)
				}
				body.Template = string(text)
			}
			add := func(ctx context.Context, api *client.Client) (*wire.WebhookMade, error) {
				return api.Operator().Webhooks().Add(ctx, body)
			}
			return cli.Reading(c, add, func(w io.Writer, v *wire.WebhookMade) error {
				_, err := fmt.Fprintf(w, "Webhook %s gets %d types of events.\nIts secret, which is shown only once: %s\n", v.Webhook.ID, len(v.Webhook.Events), v.Secret)
				return err
			})(cmd, nil)
		},
	}
	c.BindReading(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&body.Events, "event", nil, "`types` of events, such as failed, job.*, gpu.quarantined (default: all)")
	f.StringVarP(&body.User, "user", "u", "", "only of this `user`'s jobs and services")
	f.StringVarP(&body.Project, "project", "A", "", "only of this `project`'s")
	f.StringVar(&body.Secret, "secret", "", "sign with this `secret` in place of a new one: whsec_ and base64")
	f.StringVar(&template, "template", "", "make the body by the template in this `file` (default: the event as JSON)")
	f.StringVar(&body.Note, "note", "", "a `text` that is shown in lists")
	cli.AllowEmpty(f, "note")
	return cmd
}

func newWebhookList() *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List webhooks and their deliveries", Args: cli.NoArgs,
		RunE: cli.Reading(c, func(ctx context.Context, api *client.Client) (*wire.Webhooks, error) {
			return api.Operator().Webhooks().List(ctx)
		}, showWebhooks),
	}
	c.BindReading(cmd)
	return cmd
}

func showWebhooks(w io.Writer, v *wire.Webhooks) error {
	t := table.New("ID", "URL", "OF", "EVENTS", ">PENDING", ">DELIVERED", ">DEAD", ">DROPPED", "NOTE")
	for _, h := range v.Webhooks {
		of := "all"
		if h.User != "" {
			of = "user " + h.User
		} else if h.Project != "" {
			of = "project " + h.Project
		}
		list := strings.Join(h.Events, " ")
		if len(h.Events) == len(v.Events) {
			list = "*"
		}
		t.Add(h.ID, h.URL, of, list, strconv.FormatInt(h.Pending, 10), strconv.FormatInt(h.Delivered, 10),
			strconv.FormatInt(h.Dead, 10), strconv.FormatInt(h.Dropped, 10), h.Note)
	}
	if t.Len() == 0 {
		_, err := fmt.Fprintln(w, "There are no webhooks.")
		return err
	}
	_, err := t.WriteTo(w)
	return err
}

func newWebhookRemove() *cobra.Command {
	return hookCommand("remove", "Remove a webhook and what waits for it", func(cmd *cobra.Command, api *client.Client, id string) error {
		if _, err := api.Operator().Webhooks().Remove(cmd.Context(), id); err != nil {
			return err
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "Removed webhook %s.\n", id)
		return err
	})
}

// trialPatience is how long the result of a test delivery is waited for.
const trialPatience = 15 * time.Second

func newWebhookTest() *cobra.Command {
	return hookCommand("test", "Send a test event to a webhook, and print the result", func(cmd *cobra.Command, api *client.Client, id string) error {
		made, err := api.Operator().Webhooks().Test(cmd.Context(), id)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), trialPatience)
		defer cancel()
		for {
			d, err := trial(ctx, api, id, made.EventID)
			switch {
			case err != nil:
				return err
			case d == nil || d.Tries == 0:
			case d.State == "delivered":
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "Delivered in %d ms: it answered %d.\n", d.TookMilli, d.Status)
				return err
			default:
				return fmt.Errorf("webhook %s did not accept the test event: %s; the delivery is retried, see berth webhook log %s", id, d.Error, id)
			}
			if cmdline.Pause(ctx, 200*time.Millisecond) != nil {
				if cmd.Context().Err() != nil {
					return cmd.Context().Err()
				}
				return fmt.Errorf("webhook %s got no test event within %s: is there a leader? see berth webhook log %s", id, trialPatience, id)
			}
		}
	})
}

// trial returns the delivery of an event; nil: there is none yet.
func trial(ctx context.Context, api *client.Client, id, event string) (*wire.Delivery, error) {
	list, err := api.Operator().Webhooks().Deliveries(ctx, client.DeliveryQuery{To: "webhook:" + id, Limit: 1000})
	if err != nil {
		return nil, err
	}
	for i := range list.Deliveries {
		if list.Deliveries[i].EventID == event {
			return &list.Deliveries[i], nil
		}
	}
	return nil, nil //nolint:nilnil // there is none, which is no error
}

// hookCommand returns a command about one webhook.
func hookCommand(name, short string, do func(*cobra.Command, *client.Client, string) error) *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use: name + " ID", Short: short,
		Args: cli.One("the id of one webhook, as berth webhook list shows it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.Dial()
			if err != nil {
				return err
			}
			return do(cmd, api, args[0])
		},
	}
	c.Bind(cmd)
	return cmd
}

func newWebhookLog() *cobra.Command {
	c := &cli.Connection{}
	query := client.DeliveryQuery{}
	cmd := &cobra.Command{
		Use: "log [ID]", Short: "Show deliveries that wait, and the results of those that have ended",
		Long: "Without a webhook's id: all deliveries, including those to the addresses of jobs and services.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cmdline.Usage("%s takes the id of one webhook, or none", cmd.CommandPath())
			}
			if len(args) == 1 {
				query.To = "webhook:" + args[0]
			}
			ask := func(ctx context.Context, api *client.Client) (*wire.Deliveries, error) {
				return api.Operator().Webhooks().Deliveries(ctx, query)
			}
			return cli.Reading(c, ask, showDeliveries)(cmd, nil)
		},
	}
	c.BindReading(cmd)
	cmd.Flags().StringVarP(&query.State, "state", "s", "", "only pending, delivered or dead")
	cmd.Flags().IntVarP(&query.Limit, "limit", "n", 50, "the most deliveries, the newest first")
	return cmd
}

func showDeliveries(w io.Writer, v *wire.Deliveries) error {
	t := table.New("HAPPENED", "EVENT", "TARGET", "TO", "STATE", ">TRIES", ">STATUS", "NEXT TRY", "ERROR")
	now := time.Now()
	for _, d := range v.Deliveries {
		status := ""
		if d.Status > 0 {
			status = strconv.FormatInt(d.Status, 10)
		}
		next := ""
		if d.State == "pending" {
			next = "now"
			if d.NextTry.After(now) {
				next = "in " + table.About(d.NextTry.Sub(now))
			}
		}
		t.Add(table.Clock(d.At, now), d.Type, d.Target, d.To, d.State, strconv.FormatInt(d.Tries, 10), status, next, d.Error)
	}
	if t.Len() == 0 {
		_, err := fmt.Fprintln(w, "There are no deliveries.")
		return err
	}
	_, err := t.WriteTo(w)
	return err
}

func newWebhookSettings() *cobra.Command {
	c := &cli.Connection{}
	var allow, secret string
	var backlog int64
	cmd := &cobra.Command{
		Use: "settings", Short: "Show or change the allowed addresses of webhooks, and the threshold of the backlog event", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			body, changed := &wire.SetWebhookSettings{}, false
			if changed = cmd.Flags().Changed("allow"); changed {
				if allow == "public" {
					allow = ""
				}
				body.Allow = &allow
			}
			if cmd.Flags().Changed("backlog") {
				body.Backlog, changed = &backlog, true
			}
			if cmd.Flags().Changed("secret") {
				body.Secret, changed = &secret, true
			}
			if changed {
				api, err := c.Dial()
				if err != nil {
					return err
				}
				made, err := api.Operator().Webhooks().Set(cmd.Context(), body)
				if err != nil {
					return err
				}
				if made.Secret != "" {
					fmt.Fprintf(cmd.OutOrStdout(), "The secret of jobs' and services' own webhooks, which is shown only once: %s\n", made.Secret)
				}
			}
			ask := func(ctx context.Context, api *client.Client) (*wire.Webhooks, error) {
				return api.Operator().Webhooks().List(ctx)
			}
			return cli.Reading(c, ask, showWebhookSettings)(cmd, nil)
		},
	}
	c.BindReading(cmd)
	f := cmd.Flags()
	f.StringVar(&allow, "allow", "", "allowed `hosts`, *.domain and networks of webhooks, separated by commas; public: public addresses (the default)")
	f.Int64Var(&backlog, "backlog", 0, "`number` of waiting tasks from which on the backlog event is sent; 0: never")
	f.StringVar(&secret, "secret", "", "secret that signs deliveries to the addresses of jobs and services: `new`, none, or one of your own")
	return cmd
}

func showWebhookSettings(w io.Writer, v *wire.Webhooks) error {
	signed := "not signed (berth webhook settings --secret new)"
	if v.Settings.Signed {
		signed = "signed"
	}
	backlog := "never told"
	if v.Settings.Backlog > 0 {
		backlog = fmt.Sprintf("sent from %d waiting tasks on", v.Settings.Backlog)
	}
	_, err := fmt.Fprintf(w, "allow    %s\nbacklog  %s\njobs     their own webhooks are %s\n", cmp.Or(v.Settings.Allow, "public addresses"), backlog, signed)
	return err
}
