package batch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/berth-gpu/berth/slurm/container"
	"github.com/berth-gpu/berth/test/imagetest"
)

// imageOf returns the folder of an image with a few programs of this host.
var imageOf = sync.OnceValues(func() (string, error) {
	top, err := os.MkdirTemp("", "image")
	if err == nil {
		err = imagetest.Make(top, "sh", "cat", "ls", "id", "sleep", "touch", "env", "mkdir", "rm", "sort")
	}
	if err != nil {
		return "", err
	}
	return top, os.Symlink("/nowhere/resolv.conf", filepath.Join(top, "etc/resolv.conf"))
})

// withImages gives the nodes of a job a program that fetches images: "test" is one; "slow" never comes; all others do not exist.
func (j *job) withImages() *job {
	j.t.Helper()
	top, err := imageOf()
	if err != nil {
		j.t.Skip("needs ldd and a few programs: ", err)
	}
	lock := filepath.Join(j.dir, "lock")
	described, err := json.Marshal(map[string]any{
		"digest": "sha256:1", "root": top, "lock": lock, "env": []string{"PATH=/bin", "OF_IMAGE=1", "MODE=image"}, "workdir": "/srv", "entrypoint": []string{"/bin/env", "ENTRY=1"},
	})
	if err == nil {
		err = os.WriteFile(lock, nil, 0o600)
	}
	if err != nil {
		j.t.Fatal(err)
	}
	daemon := filepath.Join(j.bin, "berthd")
	script := "#!/bin/sh\necho \"$@\" >> " + j.dir + `/fetched
case "$6" in
slow) echo "image slow: 1 of 2 GB" >&2; exec sleep 1000 ;;
test*) ;;
*) echo "berth: there is no image $6" >&2; exit 3 ;;
esac
if [ "$2" = resolve ]; then echo "$6@sha256:$(printf %064d 1)"; else echo '` + string(described) + `'; fi
`
	writeProgram(j.t, daemon, script)
	for _, f := range j.files {
		f.Daemon, f.Images = daemon, filepath.Join(j.dir, "images", f.Job.Nodes[f.Rank].Name)
		if err := os.MkdirAll(f.Images, 0o700); err != nil {
			j.t.Fatal(err)
		}
	}
	return j
}

// accountInImage returns the name of the user of tests in the image: root is in the image, others get the name of the job's user.
func accountInImage() string {
	if os.Getuid() == 0 {
		return "root"
	}
	return "ann"
}

// TestStepsInImages checks what tasks in an image see and can do.
func TestStepsInImages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]stepCase{
		"files of the image": {1, `srun -n1 --container-image=test cat /etc/image data; cat /etc/image 2>&1`, 1, "of the image\n1\ncat: /etc/image: No such file or directory\n", nil},
		"account":            {1, `srun -n1 --container-image=test sh -c 'id -un; id -u'`, 0, accountInImage() + "\n" + strconv.Itoa(os.Getuid()) + "\n", nil},
		"root":               {1, `srun -n1 --container-image=test --container-remap-root sh -c 'id -u; echo $HOME; ls -d /root'`, 0, "0\n/root\n/root\n", nil},
		"variables": {
			1, `export MODE=job OTHER=2 OF_IMAGE=0; srun -n1 --container-image=test --container-env=MODE sh -c 'echo $MODE $OTHER $OF_IMAGE $SLURM_JOB_ID $SLURM_PROCID $CUDA_VISIBLE_DEVICES ${PATH##*:}'`,
			0, "job 2 1 7 0 0,1 /bin\n", nil,
		},
		"several tasks share what they write": {
			1, `srun -n2 --container-image=test sh -c 'if [ $SLURM_PROCID = 0 ]; then echo x > /etc/new; else until [ -s /etc/new ]; do sleep 0.01; done; cat /etc/new; fi'`, 0, "x\n", nil,
		},
		"nothing is left for the next step": {1, `srun -n1 --container-image=test touch /etc/new; srun -n1 --container-image=test ls /etc/new; echo $?; ls -d $(dirname $BERTH_SLURM)/container*`, 2, "2\n", []string{"/etc/new", "No such file"}},
		"name keeps what was written":       {1, `srun -n1 --container-image=test --container-name=x touch /etc/new; srun -n1 --container-name=x ls /etc/new`, 0, "/etc/new\n", nil},
		"name without an image":             {1, `srun -n1 --container-name=x ls; echo $?`, 0, "1\n", []string{"slurmstepd: error: there is no container x on this node; name its image by --container-image"}},
		"one container for steps at once": {
			1, `srun -n1 --overlap --container-image=test --container-name=x sh -c 'touch /etc/new; until [ -e /etc/end ]; do sleep 0.01; done' &
until srun -n1 --overlap --container-name=x:exec ls /etc/new 2>/dev/null; do sleep 0.01; done; srun -n1 --overlap --container-name=x touch /etc/end; wait; echo $?`, 0, "/etc/new\n0\n", nil,
		},
		"each step has its own folder": {
			1, `srun -n1 --overlap --container-image=test --container-name=x sh -c 'touch /etc/new; until [ -e /etc/end ]; do sleep 0.01; done' &
until srun -n1 --overlap --container-name=x:exec ls /etc/new >/dev/null 2>&1; do sleep 0.01; done
srun -n1 --overlap --container-name=x --container-workdir=/etc --container-mounts=/usr --container-env=MODE --export=ALL,MODE=2 sh -c 'ls image; echo $MODE; ls -d /usr'
srun -n1 --overlap --container-name=x touch /etc/end; wait`, 0, "image\n2\n", []string{"slurmstepd: the container x runs already: its mounts and its user are those of the step that has started it", "/usr"},
		},
		"mounts": {
			1, `mkdir a; echo 1 > a/b; echo 2 > c; srun -n1 --container-image=test --container-mounts=a:/mnt/deep/a:ro,$PWD/c:/etc/c,$PWD sh -c "cat /mnt/deep/a/b /etc/c $PWD/c; echo 3 > /etc/c; touch /mnt/deep/a/x"; cat c`,
			0, "1\n2\n2\n3\n",
			[]string{"/mnt/deep/a/x", "Read-only file system"},
		},
		"missing mount":        {1, `srun -n1 --container-image=test --container-mounts=/nosuch:/a ls; echo $?`, 0, "1\n", []string{"slurmstepd: error: /nosuch cannot be mounted at /a", "no such file"}},
		"working folder":       {1, `srun -n1 --container-image=test --container-workdir=/etc ls image; srun -n1 --container-image=test --container-workdir=/nosuch ls; echo $?`, 0, "image\n1\n", []string{"there is no folder /nosuch in the image"}},
		"read-only":            {1, `srun -n1 --container-image=test --container-readonly sh -c 'touch /etc/x; echo $?; echo 1 > /tmp/$$; cat /tmp/$$; rm /tmp/$$'`, 0, "1\n1\n", []string{"Read-only file system"}},
		"entry point":          {1, `srun -n1 --container-image=test --container-entrypoint sh -c 'echo $ENTRY'; srun -n1 --container-image=test sh -c 'echo -$ENTRY'`, 0, "1\n-\n", nil},
		"exit code":            {1, `srun -n1 --container-image=test sh -c 'exit 7'; echo $?; srun -n1 --container-image=test sh -c 'kill -KILL $$'; echo $?`, 0, "7\n137\n", []string{"Exited with exit code 7", "task 0: Killed"}},
		"not found":            {1, `srun -n1 --container-image=test python; echo $?`, 0, "2\n", []string{"slurmstepd: error: execve(): python: No such file or directory"}},
		"no such image":        {1, `srun -n1 --container-image=other ls; echo $?`, 0, "1\n", []string{"Unable to create step for job 7: the image other: there is no image other"}},
		"end of the container": {1, `srun -n2 --container-image=test sh -c 'touch /$SLURM_PROCID; until [ -e /0 -a -e /1 ]; do sleep 0.01; done; [ $SLURM_PROCID = 0 ] && kill -KILL $PPID; sleep 1000'; echo $(($? > 0)); srun -n1 --container-image=test cat data`, 0, "1\n1\n", nil},
		"output files":         {1, `srun -n2 -o out.%t --container-image=test sh -c 'echo $SLURM_PROCID'; cat out.0 out.1`, 0, "0\n1\n", nil},
		"standard input":       {1, `echo hello | srun -n1 --container-image=test cat`, 0, "hello\n", nil},
		"two nodes":            {2, `srun -l --container-image=test sh -c 'echo $SLURMD_NODENAME; cat data' | sort; grep -c resolve fetched`, 0, "0: 1\n0: a\n1: 1\n1: a\n2: 1\n2: b\n3: 1\n3: b\n1\n", nil},
		"srun inside":          {1, `srun -n1 --container-image=test env PATH=$PATH srun --overlap -n1 sh -c 'cat /etc/image || echo outside'`, 0, "outside\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, c.nodes, c.script).withImages().start()
			j.want(c.code, c.stdout)
			j.wantErr(c.stderr...)
		})
	}
}

// TestScriptInImage checks that a script runs in the image of its job, with its files outside, and ends as usual.
func TestScriptInImage(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1, "").withImages()
	script := "#!/bin/sh\ncat /etc/image data\necho $SLURM_JOB_ID $MODE $TEST_TASK\nsrun -n1 sh -c 'echo $SLURM_STEP_ID'\nexit 5\n"
	writeProgram(t, j.files[0].Command[0], script)
	f := j.files[0]
	f.Request.Container = &container.Options{Image: "test", Env: []string{"PATH"}}
	f.Request.Stdout = "out.txt"
	j.start()
	j.want(5, "of the image\n1\n7 image\n0\n")
	if got := j.file("out.txt"); got != j.ranks[0].stdout.String() {
		t.Errorf("the output file has %q", got)
	}
}

// TestStopWhilePulling checks that the stop signal ends a script, and Ctrl-C a step, whose image has not come yet.
func TestStopWhilePulling(t *testing.T) {
	t.Parallel()
	t.Run("script", func(t *testing.T) {
		t.Parallel()
		j := newJob(t, 1, "echo never").withImages()
		j.files[0].Request.Container = &container.Options{Image: "slow"}
		j.start()
		waitUntil(t, "the image is asked for", func() bool { return strings.Contains(j.file("fetched"), "slow") })
		j.signal(0, syscall.SIGTERM)
		j.want(-int(syscall.SIGTERM), "")
	})
	t.Run("step", func(t *testing.T) {
		t.Parallel()
		j := newJob(t, 1, `srun -n1 --container-image=slow true & until [ -s fetched ]; do sleep 0.01; done; kill -KILL $!; wait; srun -n1 echo free`).withImages().start()
		j.want(0, "free\n")
	})
	t.Run("named", func(t *testing.T) {
		t.Parallel()
		j := newJob(t, 1, `srun -n1 --container-image=slow --container-name=x true & until [ -s fetched ]; do sleep 0.01; done; kill -KILL $!; wait; srun -n1 echo free`).withImages().start()
		j.want(0, "free\n")
	})
}

// TestContainerEnds checks that nothing of a container is left when its step is killed.
func TestContainerEnds(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1, `export SLURM_PARENT=$$; srun -n1 --container-image=test sh -c 'echo $$ > /tmp/pid.$SLURM_PARENT; sleep 1000' & until [ -s /tmp/pid.$$ ]; do sleep 0.01; done; cat /tmp/pid.$$; rm /tmp/pid.$$; kill -KILL $!; wait; sleep 1000`)
	j.withImages().start()
	j.out("\n")
	waitGone(t, strings.TrimSpace(j.ranks[0].stdout.String()))
	waitUntil(t, "the files of the container are removed", func() bool {
		left, err := filepath.Glob(filepath.Join(j.files[0].Folder, "container-*"))
		return err == nil && len(left) == 0
	})
	j.signal(0, syscall.SIGKILL)
}
