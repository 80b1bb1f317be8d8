package cli

import (
	"encoding/json"
	"io"

	"github.com/berth-gpu/berth/cmd/internal/terminal"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// outputMeans is the help text of the output formats.
const outputMeans = "json, yaml, wide for a table that is not cut to the terminal's width, or a table if it is not given"

// CheckOutput refuses an unknown output format before any request is sent.
func (c *Connection) CheckOutput() error {
	switch c.Output {
	case "", "table", "wide", "json", "yaml":
		return nil
	}
	return cmdline.Usage("--output must be table, wide, json or yaml, not %q", c.Output)
}

// Print writes an answer in the requested format.
func (c *Connection) Print(w io.Writer, answer any, asTable func(io.Writer) error) error {
	switch c.Output {
	case "json":
		e := json.NewEncoder(w)
		if !c.repeated {
			e.SetIndent("", "  ")
		}
		e.SetEscapeHTML(false)
		return e.Encode(answer)
	case "yaml":
		return printYAML(w, answer)
	case "wide":
		w = terminal.Whole(w)
	}
	return asTable(w)
}
