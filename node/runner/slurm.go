package runner

import (
	"cmp"
	"encoding/hex"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/slurm/environ"
	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/jobfile"
	"github.com/berth-gpu/berth/slurm/request"
)

// clusterName is SLURM_CLUSTER_NAME of all jobs.
const clusterName = "berth"

// partition is SLURM_JOB_PARTITION of jobs that name none: the one that all clusters have.
const partition = "main"

// SlurmPrograms returns the names under which jobs in Slurm's language find the program berth first in PATH.
func SlurmPrograms() []string {
	return []string{"sbatch", "srun", "squeue", "scancel", "sinfo", "sacct", "scontrol", "salloc", "sacctmgr", "sshare"}
}

// SlurmJob is how a rank of a job in Slurm's language is started.
type SlurmJob struct {
	Client  string   // path of the program berth
	Daemon  string   // path of the program berthd
	Images  string   // folder of the account for images; empty: none
	Account Identity // that the rank runs under
	Command []string // of the script: a program with its arguments
	WorkDir string   // that the script starts in
	Port    uint16   // that was free when this rank got ready
	Now     time.Time
}

// Identity is an account of the node.
type Identity struct {
	User, Group string
	UID, GID    int
}

// OwnIdentity returns the account of this process. Its name is the one in the user database, and without an entry there USER.
func OwnIdentity() Identity {
	id := Identity{User: os.Getenv("USER"), UID: os.Getuid(), GID: os.Getgid()}
	if entry, err := user.LookupId(strconv.Itoa(id.UID)); err == nil && entry.Username != "" {
		id.User = entry.Username
	}
	return id
}

// slurmFile returns the path of the file that describes the job to its own programs, below [GangFolder].
func (f *Folder) slurmFile() string { return filepath.Join(f.path, GangFolder, "slurm.json") }

// SlurmBin returns the path of the folder with links to berth under the names of Slurm's programs, below [GangFolder].
func (f *Folder) SlurmBin() string { return filepath.Join(f.path, GangFolder, "bin") }

// WriteSlurm writes what a rank of a job in Slurm's language needs: the file that describes the job, and links to berth. It returns
// the path of the file. The folder of both exists, and is the account's.
func (f *Folder) WriteSlurm(r *Record, o *Orders, j *SlurmJob) (string, error) {
	want, err := request.Decode(r.Job.Spec.Slurm)
	if err != nil {
		return "", err
	}
	path := f.slurmFile()
	gang, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	defer func() { _ = gang.Close() }()
	for _, old := range []string{path, f.SlurmBin()} { // of a start that broke off
		if err := gang.RemoveAll(filepath.Base(old)); err != nil {
			return "", err
		}
	}
	file := describe(r, o, j, want)
	file.Folder, file.Job.RankDir = filepath.Dir(path), filepath.Join(f.path, WorkFolder)
	file.Daemon, file.Images = j.Daemon, j.Images
	if err := file.Write(path, &[2]int{j.Account.UID, j.Account.GID}); err != nil {
		return "", err
	}
	return path, linkPrograms(gang, filepath.Base(f.SlurmBin()), j.Client)
}

// linkPrograms makes a folder with links to berth. The account may put a link in its place meanwhile, which is not followed out of the
// folder above.
func linkPrograms(gang *os.Root, name, client string) error {
	if err := gang.Mkdir(name, 0o755); err != nil {
		return err
	}
	bin, err := gang.OpenRoot(name)
	if err != nil {
		return err
	}
	for _, program := range SlurmPrograms() {
		err = errors.Join(err, bin.Symlink(client, program))
	}
	return errors.Join(err, bin.Close())
}

// describe returns what the programs inside a job have to know about the job.
func describe(r *Record, o *Orders, j *SlurmJob, want *request.Request) *jobfile.File {
	spec := &r.Job.Spec
	file := &jobfile.File{
		Request: *want, Rank: int(r.Rank.Rank), Command: j.Command, WorkDir: j.WorkDir,
		Signal: spec.WarnSignal, Stop: spec.StopSignal, Grace: spec.Grace.Milliseconds(),
		Job: environ.Job{
			ID: uint64(r.Rank.Job), Name: spec.Name, User: j.Account.User, Group: j.Account.Group, UID: j.Account.UID, GID: j.Account.GID,
			Account: spec.Project, Partition: cmp.Or(want.Partition, partition), QOS: want.QOS, Cluster: clusterName, SubmitDir: want.SubmitDir,
			SubmitHost: want.SubmitHost,
			Asked:      want.Asked, GPUsPerTask: want.GPUsPerTask, Restarts: int(max(r.Rank.N, 1)) - 1, Start: j.Now.Unix(), TmpDir: "/tmp",
			Umask: spec.Umask,
		},
	}
	if limit := max(o.TimeLimit, spec.TimeLimit); limit > 0 {
		file.Job.End = j.Now.Add(limit).Unix()
	}
	if a, err := form.ParseArray(want.Array); err == nil && len(a.Indices) > 0 {
		file.Job.Array = arrayOf(&a, uint64(r.Rank.Job), int(r.Rank.Task))
		file.Job.ID = form.TaskNumber(uint64(r.Rank.Job), int(r.Rank.Task))
	}
	if file.Rank == 0 {
		file.Job.ScriptNodeIP = r.Job.Address
	}
	addRanks(file, r, o, j.Port)
	return file
}

// arrayOf describes the array of a task.
func arrayOf(a *form.Array, job uint64, task int) environ.Array {
	out := environ.Array{Job: job, Task: task, Count: len(a.Indices), Min: a.Indices[0], Max: a.Indices[len(a.Indices)-1], Step: 1}
	if len(a.Indices) > 1 {
		out.Step = a.Indices[1] - a.Indices[0]
	}
	return out
}

// addRanks adds the nodes of the job, and where their ranks are reached.
func addRanks(file *jobfile.File, r *Record, o *Orders, port uint16) {
	mates := o.Gang
	names := []string{string(r.Job.Node)}
	file.Ranks = []jobfile.Rank{{Address: r.Job.Address, Port: port}}
	if len(mates) > 1 {
		names, file.Ranks = nil, nil
		file.Secret = hex.EncodeToString(o.Secret)
		for _, m := range mates {
			names = append(names, string(m.Node))
			file.Ranks = append(file.Ranks, jobfile.Rank{Address: m.Address, Port: m.Port})
			if m.Rank == 0 {
				file.Job.ScriptNodeIP = m.Address
			}
		}
	}
	spec := &r.Job.Spec
	for i, tasks := range file.Request.Counts(len(names)) {
		node := environ.Node{Name: names[i], Tasks: tasks, Cores: int(spec.CPUs)}
		if node.Cores == 0 {
			node.Cores = max(tasks, 1) * max(file.Request.CPUsPerTask, 1)
		}
		if i == file.Rank || len(names) == 1 {
			node.GPUs, node.Devices = devicesOf(r.GPUs)
		}
		file.Job.Nodes = append(file.Job.Nodes, node)
	}
}

// devicesOf returns the numbers of GPUs, and if parts of GPUs (MIG) are among them what CUDA_VISIBLE_DEVICES has for each.
func devicesOf(gpus []GPU) (numbers []int, devices []string) {
	parts := false
	for _, g := range gpus {
		numbers = append(numbers, int(g.Index))
		name := strconv.FormatUint(uint64(g.Index), 10)
		if strings.HasPrefix(string(g.ID), "MIG-") {
			name, parts = string(g.ID), true
		}
		devices = append(devices, name)
	}
	if !parts {
		devices = nil
	}
	return numbers, devices
}
