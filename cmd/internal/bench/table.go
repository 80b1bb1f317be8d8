package bench

import (
	"fmt"
	"io"
	"strings"

	"github.com/berth-gpu/berth/cluster/figures"
	shown "github.com/berth-gpu/berth/cmd/internal/table"
)

// show writes a table in columns, or as Markdown.
func show(t *figures.Table, w io.Writer, markdown bool) error {
	if markdown {
		return t.Markdown(w)
	}
	heads := make([]string, len(t.Head))
	for i, h := range t.Head {
		heads[i] = ">" + strings.ToUpper(h)
	}
	out := shown.New(heads...)
	for _, row := range t.Rows {
		out.Add(row...)
	}
	_, err := fmt.Fprintf(w, "\n%s\n%s", t.Title, out)
	return err
}
