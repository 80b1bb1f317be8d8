package jobs

import (
	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// options holds the values of the options that set fields of a submission, by their names in the table of package
// intake.
type options map[string]*intake.FlagValue

// bind adds all options of the table to a command.
func (o options) bind(cmd *cobra.Command) {
	to := cmd.Flags()
	for _, field := range intake.Fields() {
		for _, f := range field.Flags {
			v := &intake.FlagValue{}
			switch o[f.Name] = v; f.Form {
			case intake.FormText:
				to.StringVarP(&v.Text, f.Name, f.Short, f.Usual, f.Help)
			case intake.FormNumber:
				to.Int64VarP(&v.Number, f.Name, f.Short, 0, f.Help)
			case intake.FormSwitch:
				to.BoolVarP(&v.On, f.Name, f.Short, false, f.Help)
			case intake.FormList:
				to.StringSliceVarP(&v.List, f.Name, f.Short, nil, f.Help)
			case intake.FormRepeat:
				to.StringArrayVarP(&v.List, f.Name, f.Short, nil, f.Help)
			case intake.FormCodes:
				to.Int64SliceVarP(&v.Codes, f.Name, f.Short, nil, f.Help)
			}
		}
	}
}

// fill copies the options that were given, and if usual those with a usual value, into a submission, in the order of the
// table.
func (o options) fill(cmd *cobra.Command, r *wire.Submit, usual bool) error {
	for _, field := range intake.Fields() {
		for _, f := range field.Flags {
			if f.Set == nil || (f.Usual == "" || !usual) && !cmd.Flags().Changed(f.Name) {
				continue
			}
			if err := f.Set(r, o[f.Name]); err != nil {
				return cmdline.Usage("%w", err)
			}
		}
	}
	return nil
}
