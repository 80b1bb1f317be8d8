package step

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/berth-gpu/berth/slurm/srun"
)

// programs is the file of --multi-prog.
type programs struct {
	file, text string // empty: all tasks run one program
	list       []srun.Program
}

// read reads the file. Most of what is wrong there is found by check, since that depends on the number of tasks.
func (p *programs) read(file string) error {
	text, err := os.ReadFile(file) //nolint:gosec // the user names the file
	if err != nil {
		return fmt.Errorf("Could not open multi_prog config file %s", file) //nolint:staticcheck // the words of Slurm
	}
	p.file, p.text = file, string(text)
	p.list, _ = srun.ParsePrograms(p.file, p.text, 0)
	return nil
}

// check checks that the file has a program for each task of the step.
func (p *programs) check(tasks int) error {
	if p.file == "" {
		return nil
	}
	if _, err := srun.ParsePrograms(p.file, p.text, tasks); err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), "\n", "\nsrun: error: "))
	}
	return nil
}
