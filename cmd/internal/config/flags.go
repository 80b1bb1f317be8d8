package config

import (
	"strings"

	"github.com/spf13/pflag"
)

// Flags are the flags of a program as they were given. They are parsed together with the
// configuration: a flag wins over the file that another flag may name.
type Flags struct {
	program Program
	file    string
	given   map[string][]string
}

// Bind gives a command the flags of its settings; a peer and an agent also --config.
func Bind(p Program, to *pflag.FlagSet) *Flags {
	f := &Flags{program: p, given: map[string][]string{}}
	if p != OfClient {
		to.StringVar(&f.file, "config", "", "YAML `file` with settings (default: $BERTH_CONFIG, $CONFIG_PATH, or config.yaml here if it is there); berth config example prints one")
	}
	rows := New().of(p)
	for i := range rows {
		row := &rows[i]
		if row.Flag == "" || row.For&p == 0 {
			continue
		}
		means := row.Means
		if row.Cluster {
			means += "; takes effect when the cluster is founded"
		}
		bound := to.VarPF(&option{f, row}, row.Flag, "", means)
		if row.Value.Kind() == kindSwitch {
			bound.NoOptDefVal = "true"
		}
	}
	return f
}

// Source returns where the program's settings are read from.
func (f *Flags) Source(environ []string) Source {
	return Source{Program: f.program, File: f.file, Environ: environ, Flags: f.given}
}

// option is the flag of one setting.
type option struct {
	all *Flags
	row *Setting
}

// String returns the default for the help.
func (f *option) String() string {
	if f.row == nil {
		return "" // pflag also calls it on the zero value
	}
	if texts := f.all.given[f.row.Flag]; len(texts) > 0 {
		return strings.Join(texts, ",")
	}
	return f.row.Value.Text()
}

// GetSlice returns every text that was given, in order.
func (f *option) GetSlice() []string { return f.all.given[f.row.Flag] }

// Set records the given text; it is checked later, together with all others.
func (f *option) Set(text string) error {
	f.all.given[f.row.Flag] = append(f.all.given[f.row.Flag], text)
	return nil
}

// Type names the value in the help, unless the meaning does.
func (f *option) Type() string {
	if f.row.Value.Kind() == kindSwitch {
		return "bool"
	}
	return "value"
}
