package process

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/runner"
)

// inGang gives a rank a gang of two nodes with a secret.
func inGang(r *runner.Record) {
	r.Rank.Rank = 1
	r.Orders.Gang = []model.Mate{{Rank: 0, Node: "n0", Address: "10.0.0.1", Port: 4242}, {Rank: 1, Node: "n1", Address: "10.0.0.2", Port: 4343}}
	r.Orders.Secret = []byte{0xab, 0xcd}
}

// A job gets the environment of its submission, which Berth's variables and the job's own overrule.
func TestEnvironmentOfTheSubmission(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("needs bash")
	}
	k := b.rankWith(runner.Environment{Job: []byte("MINE=own"), Submit: []byte(submitEnv)}, "bash\x00-c\x00env; twice well", func(r *runner.Record) {
		r.Job.Spec.Argv, r.GPUs = true, []runner.GPU{{ID: "GPU-b", Index: 2}}
	}).start()
	k.exit()
	out := "\n" + k.output(runner.StdoutFile)
	for _, want := range []string{"HOME=/users/ann", "MINE=own", "CUDA_VISIBLE_DEVICES=2", "well well"} {
		if !strings.Contains(out, "\n"+want+"\n") {
			t.Errorf("the job does not find %s in:%s", want, out)
		}
	}
}

// A rank of several finds an address book with the secret of its attempt, which only its account can read. The secret is in no
// environment.
func TestAddressBook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	k := b.rank(`cat "$BERTH_GANG"; env | grep -i abcd; stat -c %a "$BERTH_GANG" >&2`, inGang).start()
	k.exit()
	var book runner.AddressBook
	if err := json.Unmarshal([]byte(k.output(runner.StdoutFile)), &book); err != nil {
		t.Fatalf("%v in %s", err, k.output(runner.StdoutFile))
	}
	if book.Secret != "abcd" || book.Rank != 1 || len(book.Ranks) != 2 ||
		book.Ranks[0] != (runner.RankOnNode{Rank: 0, Node: "n0", Address: "10.0.0.1", Port: 4242}) {
		t.Errorf("the rank finds %+v", book)
	}
	if mode := k.output(runner.StderrFile); mode != "600\n" {
		t.Errorf("the mode of the address book is %s", mode)
	}
	alone := b.rank(`echo "${BERTH_GANG-none}"`, plain).start()
	alone.exit()
	if out := alone.output(runner.StdoutFile); out != "none\n" {
		t.Errorf("a single rank finds %s", out)
	}
}

// Under an account the job can read the address book, and the environment of the submission is the job's.
func TestAddressBookUnderAnAccount(t *testing.T) {
	t.Parallel()
	b := isolated(t, unchanged)
	k := b.rankWith(runner.Environment{Submit: []byte(submitEnv)}, `cat "$BERTH_GANG" > /dev/null && stat -c '%a %U' "$BERTH_GANG"; echo $HOME; cat `+b.run.Path+`/*.environment 2>/dev/null`, func(r *runner.Record) {
		ada(r)
		inGang(r)
	}).start()
	k.exit()
	if out := k.output(runner.StdoutFile); out != "600 "+stranger+"\n/users/ann\n" {
		t.Errorf("it found %s%s", out, k.output(runner.StderrFile))
	}
	if !exists(t, k.f.Book()) {
		t.Errorf("%s is not there", k.f.Book())
	}
}

// A variable that several sources set is there once, with the value of the last of them: some programs take the first.
func TestEachVariableOnce(t *testing.T) {
	t.Parallel()
	env := runner.Environment{Job: []byte("PATH=/own:/usr/bin:/bin\x00HOME=/own"), Submit: []byte(submitEnv)}
	k := newBench(t).rankWith(env, "env\x00-0", func(r *runner.Record) {
		r.Job.Spec.Argv = true
	}).start()
	k.exit()
	count := map[string]int{}
	for line := range strings.SplitSeq(k.output(runner.StdoutFile), "\x00") {
		name, value, _ := strings.Cut(line, "=")
		if count[name]++; name == "HOME" && value != "/own" {
			t.Errorf("HOME is %s", value)
		}
	}
	for name, n := range count {
		if n != 1 {
			t.Errorf("%s is there %d times", name, n)
		}
	}
	if count["HOME"] != 1 || count["BERTH_JOB_ID"] != 1 {
		t.Errorf("the job has %v", count)
	}
}

// The mask of file modes of the submission is the job's, and no later job's of the same supervisor; without one it is the node's.
func TestUmaskOfTheSubmission(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, v := range [][2]string{{"0077", "0077"}, {"", "0022"}, {"0002", "0002"}, {"0000", "0000"}} {
		k := b.rank("umask", func(r *runner.Record) { r.Job.Spec.Umask = v[0] }).start()
		k.exit()
		if out := k.output(runner.StdoutFile); out != v[1]+"\n" {
			t.Errorf("with %q the job has %s", v[0], out)
		}
	}
}

// Under an account the submission's mask is the job's, too; without one files are closed to others.
func TestUmaskUnderAnAccount(t *testing.T) {
	t.Parallel()
	b := isolated(t, unchanged)
	for _, v := range [][2]string{{"0002", "0002"}, {"", "0077"}} {
		k := b.rank("umask", func(r *runner.Record) {
			ada(r)
			r.Job.Spec.Umask = v[0]
		}).start()
		k.exit()
		if out := k.output(runner.StdoutFile); out != v[1]+"\n" {
			t.Errorf("with %q the job has %s", v[0], out)
		}
	}
}
