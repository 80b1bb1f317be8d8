package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

const snapshotLong = `Export the cluster as state files, and import such files into an empty cluster.

The files are cluster_state.json, job_queue.json, orchestrator_state.json and
gpu_allocation.json. They contain users' commands, scripts and environments: keep them as
safe as the cluster. Nodes, GPUs, tokens, webhooks, reservations and jobs that have ended are
not imported.`

// Commands returns the makers of the commands that export and import a cluster.
func Commands() []cli.Maker {
	return []cli.Maker{{Name: "snapshot", New: func() *cobra.Command {
		cmd := cli.Parent("snapshot", "Export the cluster to state files, import such files into an empty one, verify a peer's snapshot", snapshotLong,
			newSnapshotExport(), newSnapshotImport())
		cmd.Example = "  berth snapshot export --json backup\n  berth snapshot import --json backup --dry-run\n  berth snapshot import --json backup"
		return cmd
	}}}
}

// exported is the result of an export.
type exported struct {
	Folder string   `json:"folder"`
	Files  []string `json:"files"`
	Index  int64    `json:"index"`
	Jobs   int      `json:"jobs"`
}

func newSnapshotExport() *cobra.Command {
	c := &cli.Connection{}
	var folder string
	var replace bool
	cmd := &cobra.Command{
		Use: "export --json FOLDER", Short: "Export the cluster, at one place of its log, to four state files",
		Long:    "Write the cluster, at one place of its log, to four state files.\n\nThe folder is created if it does not exist. Its files are replaced once all new ones are on disk.",
		Example: "  berth snapshot export --json backup\n  berth snapshot export --json backup --replace",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if folder == "" {
				return cmdline.Usage("the folder is missing: give --json FOLDER")
			}
			export := func(ctx context.Context, api *client.Client) (*exported, error) {
				if err := prepare(folder, replace); err != nil {
					return nil, err
				}
				snapshot, err := client.SnapshotsOf(api).Export(ctx)
				if err != nil {
					return nil, err
				}
				return writeSnapshot(folder, snapshot)
			}
			return cli.Reading(c, export, func(w io.Writer, e *exported) error {
				_, err := fmt.Fprintf(w, "%s holds the cluster at index %d: %d jobs in %s\n", e.Folder, e.Index, e.Jobs, strings.Join(e.Files, ", "))
				return err
			})(cmd, nil)
		},
	}
	c.BindReading(cmd)
	cmd.Flags().StringVar(&folder, "json", "", "the `folder` for the files")
	cmd.Flags().BoolVar(&replace, "replace", false, "replace files of an earlier export")
	return cmd
}

const importLong = `Import state files of berth snapshot export, or of another orchestrator, into an empty
cluster.

Everything is checked before any change. Jobs keep their numbers and their age and wait in the
queue; jobs that ran are queued again. Services that held GPUs or waited for some wait behind
the jobs, under their names. Jobs start only after the whole import. After an interruption the
same command continues where it was, and imports nothing twice.

Jobs of another orchestrator whose entries have no command run the one of --command, with
their RUN_ID and JOB_ID in the environment.`

// importFlags are the flags of snapshot import.
type importFlags struct {
	cli.Connection

	folder  string
	dry     bool
	command string
	short   bool
}

func newSnapshotImport() *cobra.Command {
	f := &importFlags{}
	cmd := &cobra.Command{
		Use: "import --json FOLDER", Short: "Import state files into an empty cluster", Long: importLong,
		Example: "  berth snapshot import --json backup --dry-run\n  berth snapshot import --json .agents --command 'python launch.py \"$RUN_ID\"'",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.short {
				return cli.Reading(&f.Connection, cutShort, showImport)(cmd, nil)
			}
			if f.folder == "" {
				return cmdline.Usage("the folder is missing: give --json FOLDER with the files")
			}
			plan, err := readSnapshot(f.folder, f.command)
			if err != nil {
				return err
			}
			run := func(ctx context.Context, api *client.Client) (*importReport, error) {
				return (&importer{api: client.SnapshotsOf(api), plan: plan}).run(ctx, f.dry)
			}
			return cli.Reading(&f.Connection, run, showImport)(cmd, nil)
		},
	}
	f.BindReading(cmd)
	to := cmd.Flags()
	to.StringVar(&f.folder, "json", "", "the `folder` with the files")
	to.BoolVar(&f.dry, "dry-run", false, "only check everything, and print what would be imported")
	to.StringVar(&f.command, "command", "", "`command` of jobs whose entries have no command")
	to.BoolVar(&f.short, "short", false, "end an interrupted import whose files are lost, with the parts that have arrived")
	return cmd
}

// importReport is the result of an import.
type importReport struct {
	DryRun   bool     `json:"dry_run"`
	ImportID string   `json:"import_id"`
	Before   bool     `json:"imported_before"`
	Parts    int      `json:"parts"`
	Jobs     int64    `json:"jobs"`
	Again    int64    `json:"queued_again"`
	Ended    int64    `json:"ended_jobs"`
	Left     int64    `json:"left_out"`
	Services int      `json:"services"`
	Settings bool     `json:"settings"`
	Ignored  []string `json:"ignored"`
}

func showImport(w io.Writer, r *importReport) error {
	s := &cli.Sheet{}
	switch {
	case r.Before:
		s.Line("Import", "these files were imported before: nothing was changed")
	case r.DryRun:
		s.Line("Import", "nothing was changed; all of this is allowed")
	default:
		s.Line("Import", "done")
	}
	s.Line("Jobs", "%d queued, of which %d ran", r.Jobs, r.Again)
	if r.Ended > 0 {
		s.Line("Ended", "%d jobs, which are not imported", r.Ended)
	}
	if r.Left > 0 {
		s.Line("Left out", "%d jobs: their deadline has passed, or they waited for the success of a job that was not imported", r.Left)
	}
	if r.Services > 0 && !r.Before {
		s.Line("Services", "%d wait for GPUs", r.Services)
	}
	settings := "none"
	if r.Settings {
		settings = "policy, parameters, users, quotas and shares as in orchestrator_state.json"
	}
	s.Line("Settings", "%s", settings)
	for _, what := range r.Ignored {
		s.Line("Ignored", "%s", what)
	}
	_, err := io.WriteString(w, s.String())
	return err
}

// errFiles is the error of state files that are not valid; nothing was imported then.
var errFiles = errors.New("nothing was imported")

// wrongFile returns an error with the file, the line and the fault.
func wrongFile(name string, line int, format string, args ...any) error {
	at := name
	if line > 0 {
		at += " line " + strconv.Itoa(line)
	}
	return fmt.Errorf("%s: %s; %w", at, fmt.Sprintf(format, args...), errFiles)
}
