package backups

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cluster/backup"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// listed is one file in the list.
type listed struct {
	File  string              `json:"file"`
	Bytes int64               `json:"bytes"`
	Error string              `json:"error,omitempty"` // why the file cannot be read
	About *backup.Description `json:"about,omitempty"`
}

func newList() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "list FOLDER", Short: "List the backups in a folder", Args: cobra.ExactArgs(1),
		Long: "List the backups in a folder, newest first, by what each says of itself. berth backup verify checks one.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			files, err := backup.List(args[0])
			if err != nil {
				return err
			}
			list := make([]listed, 0, len(files))
			for _, f := range files {
				one := listed{File: f.Path, Bytes: f.Size, About: f.Description}
				if f.Err != nil {
					one.Error = f.Err.Error()
				}
				list = append(list, one)
			}
			if output == "json" {
				return writeJSON(cmd.OutOrStdout(), list)
			}
			return showList(cmd.OutOrStdout(), list)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "`format` of the output: json, or left out for text")
	return cmd
}

func checkOutput(output string) error {
	if output != "" && output != "json" {
		return cmdline.Usage("-o %s: must be json or left out", output)
	}
	return nil
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func showList(w io.Writer, list []listed) error {
	if len(list) == 0 {
		_, err := fmt.Fprintf(w, "No backups are there: their names end in %s.\n", backup.Suffix)
		return err
	}
	t := table.New("MADE", "CLUSTER", ">GENERATION", ">INDEX", ">JOBS", ">NODES", "KEYS", ">SIZE", "FILE")
	for _, f := range list {
		d := f.About
		if d == nil {
			t.Add("cannot be read", "", "", "", "", "", "", size(f.Bytes), f.File)
			continue
		}
		keys := "none"
		if len(d.Keys) > 0 {
			keys = "recipients"
			if d.Keys[0] == backup.Passphrase {
				keys = backup.Passphrase
			}
		}
		t.Add(d.Made.Local().Format(time.DateTime), d.Cluster[:min(8, len(d.Cluster))], strconv.FormatUint(d.Generation, 10),
			strconv.FormatUint(d.Index, 10),
			strconv.Itoa(d.Jobs), strconv.Itoa(d.Nodes), keys, size(f.Bytes), f.File)
	}
	_, err := t.WriteTo(w)
	return err
}

func size(n int64) string { return table.Bytes(float64(n)) }
