package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/berth-gpu/berth/cluster/figures"
)

// show writes a table in columns, or as Markdown.
func show(t *figures.Table, w io.Writer, markdown bool) error {
	if markdown {
		return t.Markdown(w)
	}
	fmt.Fprintf(w, "\n%s\n", t.Title)
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		fmt.Fprintln(out, strings.Join(row, "\t")+"\t")
	}
	return out.Flush()
}
