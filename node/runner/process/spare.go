package process

import (
	"os"
	"strconv"
	"strings"
)

// spared is how reluctant the kernel is to end agents and supervisors when memory runs
// out: -1000 is never, 0 as any other. A job that takes all memory is to go first,
// and somebody has to be there to say so.
const spared = -900

// scoreFile is where a process finds and sets that of its own.
const scoreFile = "/proc/self/oom_score_adj"

// Spare has the kernel end this process late when memory runs out. Only who has
// CAP_SYS_RESOURCE may ask for that, as root does: others stay as they are.
func Spare() {
	if now, err := score(); err == nil && now > spared {
		_ = setScore(spared)
	}
}

// exposed starts something that is not spared, nor can spare itself: this process is
// not either, for that moment.
func exposed(start func() error) error {
	before, err := score()
	if err != nil || before >= 0 || setScore(0) != nil {
		return start()
	}
	defer func() { _ = setScore(before) }() // who could go there before can again
	return start()
}

func score() (int, error) {
	data, err := os.ReadFile(scoreFile)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}

func setScore(n int) error { return os.WriteFile(scoreFile, []byte(strconv.Itoa(n)), 0) }
