package srun

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Program is a line of the file of --multi-prog: a program with arguments, and the tasks that run it.
type Program struct {
	Line  int      // in the file, from 1
	Ranks [][2]int // ranges of tasks, with both ends
	All   bool     // every task that no line before names
	Text  string   // the program and its arguments, as they were written
}

// invalid returns the error of a line, in Slurm's words, after what is wrong in it.
func invalid(file string, line int, problem string) error {
	text := fmt.Sprintf("Line %d of configuration file %s invalid", line, file)
	if problem != "" {
		text = problem + "\n" + text
	}
	return &Impossible{text}
}

// ParsePrograms parses the text of a file of --multi-prog: in each line tasks, such as 0,2-4 or *, and a program with arguments. Empty
// lines and lines that begin with # are left out; a backslash at the end of a line continues the line. Each task of the step must have a
// program, and no line may name other tasks. With 0 tasks their number is not known yet, and these two are not checked.
func ParsePrograms(file, text string, tasks int) (all []Program, err error) {
	lines := strings.Split(text, "\n")
	seen := map[int]bool{}
	for i := 0; i < len(lines); i++ {
		p := Program{Line: i + 1}
		line := lines[i]
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
			i++
			line += "\n" + lines[i]
		}
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		end := strings.IndexAny(line, " \t")
		if end < 0 {
			return nil, invalid(file, p.Line, "")
		}
		if len(all) > 0 && all[len(all)-1].All {
			return nil, invalid(file, p.Line, "Task range specification with asterisk must be last")
		}
		p.Text = strings.TrimSpace(line[end:])
		if problem := p.parseRanks(line[:end], seen, tasks); problem != "" {
			return nil, invalid(file, p.Line, problem)
		}
		all = append(all, p)
	}
	for rank := range tasks {
		if _, _, found := programOf(all, rank); !found {
			return nil, &Impossible{fmt.Sprintf("Configuration file %s invalid, no record for task id %d", file, rank)}
		}
	}
	return all, nil
}

// maxRank bounds the numbers of tasks in a file.
const maxRank = 1 << 20

// parseRanks parses the tasks of a line, and returns what is wrong with them; empty: nothing.
func (p *Program) parseRanks(spec string, seen map[int]bool, tasks int) string {
	if spec == "*" {
		p.All = true
		return ""
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(spec, ","), ",") {
		if n, err := strconv.Atoi(part); err == nil && n < 0 {
			return fmt.Sprintf("Invalid task id, %d < 0", n)
		}
		low, high, ranged := strings.Cut(part, "-")
		first, err := strconv.ParseUint(low, 10, 31)
		last := first
		if err == nil && ranged {
			last, err = strconv.ParseUint(high, 10, 31)
		}
		switch {
		case err != nil:
			return fmt.Sprintf("Invalid task range specification (%s)", spec)
		case last < first:
			return fmt.Sprintf("Invalid task range, %d-%d", first, last)
		case tasks > 0 && last >= uint64(tasks):
			return fmt.Sprintf("Invalid task id, %d >= ntasks", last)
		case last >= maxRank:
			return fmt.Sprintf("Invalid task id, %d >= %d", last, maxRank)
		}
		for n := int(first); n <= int(last); n++ {
			if seen[n] {
				return fmt.Sprintf("Duplicate record for task %d", n)
			}
			seen[n] = true
		}
		p.Ranks = append(p.Ranks, [2]int{int(first), int(last)})
	}
	return ""
}

// programOf returns the program of a task, and the place of the task among those of its line; of * that is the task's number.
func programOf(all []Program, rank int) (p *Program, offset int, found bool) {
	for i := range all {
		p = &all[i]
		if p.All {
			return p, rank, true
		}
		offset = 0
		for _, r := range p.Ranks {
			if rank >= r[0] && rank <= r[1] {
				return p, offset + rank - r[0], true
			}
			offset += r[1] - r[0] + 1
		}
	}
	return nil, 0, false
}

// Arguments returns the program of a task with its arguments: %t stands for the number of the task, and %o for its place among the tasks of
// its line, %% and other letters after % for nothing. A backslash takes the next character as it is, and one at the end of a line is an
// empty part of a word; single quotes take all up to the next one. None: the line has no program, or a quote that does not end.
func Arguments(all []Program, rank int) []string {
	p, offset, found := programOf(all, rank)
	if !found {
		return nil
	}
	var words []string
	var word strings.Builder
	open := false // a word has begun
	runes := p.Text
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case c == ' ' || c == '\t':
			if open {
				words = append(words, word.String())
				word.Reset()
			}
			open = false
			continue
		case c == '\\':
			i++
			if i < len(runes) && runes[i] != '\n' { // else the line goes on
				word.WriteByte(runes[i])
			}
		case c == '\'':
			end := strings.IndexByte(runes[i+1:], '\'')
			if end < 0 {
				return nil
			}
			word.WriteString(runes[i+1 : i+1+end])
			i += end + 1
		case c == '%' && len(words) > 0:
			i++
			switch {
			case i < len(runes) && runes[i] == 't':
				word.WriteString(strconv.Itoa(rank))
			case i < len(runes) && runes[i] == 'o':
				word.WriteString(strconv.Itoa(offset))
			}
		default:
			word.WriteByte(c)
		}
		open = true
	}
	if open {
		words = append(words, word.String())
	}
	return slices.Clip(words)
}
