package table_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cmd/internal/terminal"

	"github.com/berth-gpu/berth/cmd/internal/table"
)

func TestATableIsAligned(t *testing.T) {
	p := table.New("ID", ">GPUS", "NAME")
	p.Add("1", "16", "größer")
	p.Add("1234", "2", "")
	p.Add("5", "1", "evil\x1b[2J\nname")
	want := "" +
		"ID    GPUS  NAME\n" +
		"1       16  größer\n" +
		"1234     2  -\n" +
		"5        1  evil[2J name\n"
	if got := p.String(); got != want {
		t.Errorf("printed\n%q, want\n%q", got, want)
	}
}

func TestFormats(t *testing.T) {
	now := time.Date(2030, 5, 6, 12, 0, 0, 0, time.Local)
	for _, c := range []struct{ got, want string }{
		{table.Elapsed(7 * time.Second), "0:07"},
		{table.Elapsed(time.Hour + 2*time.Minute + 3*time.Second), "1:02:03"},
		{table.Elapsed(76 * time.Hour), "3-04:00:00"},
		{table.About(350 * time.Millisecond), "350 ms"},
		{table.About(40 * time.Minute), "40 min"},
		{table.Bytes(80 << 30), "80.0 GiB"},
		{table.Bytes(12), "12 B"},
		{
			table.Local("it begins at 2030-05-06T20:00:00Z, or at 2030-05-07T20:00:00.5Z (not 2030-13-06T20:00:00Z)", now),
			"it begins at " + table.Clock(time.Date(2030, 5, 6, 20, 0, 0, 0, time.UTC), now) + ", or at " +
				table.Clock(time.Date(2030, 5, 7, 20, 0, 0, 0, time.UTC), now) + " (not 2030-13-06T20:00:00Z)",
		},
		{table.Span(0), "0s"},
		{table.Span(1500 * time.Millisecond), "1.5s"},
		{table.Span(90 * time.Second), "1m30s"},
		{table.Span(10 * time.Minute), "10m"},
		{table.Span(10 * time.Hour), "10h"},
		{table.Span(90 * time.Minute), "1h30m"},
		{table.Span(36*time.Hour + 5*time.Second), "1d12h0m5s"},
		{table.Span(480 * time.Hour), "20d"},
		{table.Span(8784 * time.Hour), "366d"},
		{table.Ranges([]int64{3, 0, 1, 2, 6, 6}), "0-3,6"},
		{table.Ranges(nil), ""},
		{table.Clock(now.Add(-time.Hour), now), "11:00:00"},
		{table.Clock(now.Add(-24*time.Hour), now), "2030-05-05 12:00"},
		{table.Clock(time.Time{}, now), ""},
		{table.Short("a long name", 8), "a lon..."},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// A table fits the columns of a terminal: its widest texts are cut, numbers are not.
func TestATableFits(t *testing.T) {
	t.Parallel()
	p := table.New("ID", ">GPUS", "NAME", "REASON")
	p.Add("1", "16", "a-rather-long-name", "waits for the GPUs of others")
	p.Add("12", "2", "訓練訓練訓練訓練訓練", "-")
	want := "" +
		"ID  GPUS  NAME            REASON\n" +
		"1     16  a-rather-long…  waits for the…\n" +
		"12     2  訓練訓練訓練…   -\n"
	for columns, want := range map[int]string{0: p.String(), 200: p.String(), 40: want} {
		if got := p.Fit(columns); got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", columns, got, want)
		}
	}
	for columns := 1; columns < 70; columns++ {
		for line := range strings.Lines(p.Fit(columns)) {
			if n := table.Width(strings.TrimSuffix(line, "\n")); n > columns {
				t.Errorf("%d columns: %q takes %d", columns, line, n)
			}
		}
	}
}

// Spreadsheets take cells for text and numbers, whatever users have named their jobs.
func TestCSVHoldsNoFormulas(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := table.WriteCSV(&out, [][]string{
		{"=cmd|' /C calc'!A1", "+1+2", "-2+3", "@SUM(1)", "\tx", "\rx", "＝1", " =1", "-x"},
		{"-1.5", "+17", "1e3", "a=b", "", "name", "a@b", "2026-01-31", "-"},
	})
	want := "'=cmd|' /C calc'!A1,'+1+2,'-2+3,'@SUM(1),'\tx,\"'\rx\",'＝1,' =1,'-x\n" +
		"-1.5,+17,1e3,a=b,,name,a@b,2026-01-31,'-\n"
	if err != nil || out.String() != want {
		t.Errorf("%q, want %q (%v)", out.String(), want, err)
	}
}

// A column that is a text of users is cut where the output is no terminal, but not where all was asked for.
func TestLongTextsAreCutWithoutATerminal(t *testing.T) {
	t.Parallel()
	made := func() *table.Table {
		out := table.New("NAME", "OTHER").Shorten("NAME")
		out.Add(strings.Repeat("a", 190), strings.Repeat("b", 60))
		return out
	}
	var short, all bytes.Buffer
	if _, err := made().WriteTo(&short); err != nil {
		t.Fatal(err)
	}
	if _, err := made().WriteTo(terminal.Whole(&all)); err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("a", 39) + "…  " + strings.Repeat("b", 60) + "\n"; !strings.HasSuffix(short.String(), want) {
		t.Errorf("%q", short.String())
	}
	if !strings.Contains(all.String(), strings.Repeat("a", 190)) {
		t.Errorf("as a whole: %q", all.String())
	}
}
