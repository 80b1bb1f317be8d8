package watch

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/cli/fleet"
	"github.com/berth-gpu/berth/slurm/cli/words"
	"github.com/berth-gpu/berth/slurm/form"
	"github.com/berth-gpu/berth/slurm/hostlist"
	"github.com/berth-gpu/berth/slurm/option"
)

// record prints lines of one thing as scontrol does: below each other, or in one line.
func (p *program) record(lines []string, one bool) error {
	separator, end := "\n   ", "\n\n"
	if one {
		separator, end = " ", "\n"
	}
	_, err := io.WriteString(p.out, strings.Join(lines, separator)+end)
	return err
}

// showJobs prints the named jobs, or all.
func (p *program) showJobs(args []string, one bool) error {
	refs, err := refsOf(strings.Join(args, ","))
	if err != nil {
		return err
	}
	rows, err := p.squeueRows(refs, &jobFilter{}, true)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(p.out, "No jobs in the system")
		return err
	}
	for _, r := range rows {
		if err := p.record(r.lines(), one); err != nil {
			return err
		}
	}
	return nil
}

// lines returns a job in the lines of scontrol.
func (r *row) lines() []string {
	head := "JobId=" + r.raw()
	if len(r.tasks) > 0 {
		head += fmt.Sprintf(" ArrayJobId=%d ArrayTaskId=%s", r.number, r.taskText())
		if r.job.Array != nil && r.job.Array.Limit > 0 {
			head += fmt.Sprintf(" ArrayTaskThrottle=%d", r.job.Array.Limit)
		}
	}
	a := r.account()
	requeue := 0
	if r.detail == nil || r.detail.OnLost == "requeue" {
		requeue = 1
	}
	out := []string{
		head + " JobName=" + r.name(),
		fmt.Sprintf("UserId=%s(%s) GroupId=%s(%s) MCS_label=N/A", r.job.User, a.Uid, r.users.group(r.job.User), a.Gid),
		fmt.Sprintf("Priority=%d Nice=0 Account=%s QOS=%s", r.job.Priority, cmp.Or(r.job.Project, null), r.qos()),
		fmt.Sprintf("JobState=%s Reason=%s Dependency=%s", r.state(), strings.ReplaceAll(r.reason(), " ", "_"), cmp.Or(r.dependency(), null)),
		fmt.Sprintf("Requeue=%d Restarts=%d BatchFlag=1 Reboot=0 ExitCode=%s", requeue, max(r.job.Attempts-1, 0), r.exit()),
		fmt.Sprintf("RunTime=%s TimeLimit=%s TimeMin=N/A", form.FormatSpan(r.elapsed()), form.FormatSpan(r.limit())),
		fmt.Sprintf("SubmitTime=%s EligibleTime=%s", moment(r.job.SubmittedAt, "Unknown"), moment(r.eligible(), "Unknown")),
		"AccrueTime=" + moment(r.eligible(), "Unknown"),
		fmt.Sprintf("StartTime=%s EndTime=%s Deadline=%s", moment(r.expected(), "Unknown"), moment(r.finish(), "Unknown"), moment(r.job.Deadline, "N/A")),
		"SuspendTime=None SecsPreSuspend=0 LastSchedEval=Unknown Scheduler=Main",
		fmt.Sprintf("Partition=%s AllocNode:Sid=%s:0", r.partition(), cmp.Or(r.slurm().SubmitHost, "N/A")),
		fmt.Sprintf("ReqNodeList=%s ExcNodeList=%s", cmp.Or(words.List(r.job.Nodelist), null), cmp.Or(words.List(r.job.Exclude), null)),
		"NodeList=" + words.List(r.nodes()),
	}
	if host := r.batchHost(); host != "n/a" {
		out = append(out, "BatchHost="+host)
	}
	return append(out, r.sizeLines()...)
}

// sizeLines returns the lines about what the job needs and runs.
func (r *row) sizeLines() []string {
	memory := "MinMemoryNode=0"
	if m := r.memory(); m > 0 {
		memory = "MinMemoryNode=" + form.FormatMemory(m)
	}
	out := []string{
		fmt.Sprintf("NumNodes=%d NumCPUs=%d NumTasks=%d CPUs/Task=%d ReqB:S:C:T=0:0:*:*", r.nodeCount(), r.cpus(), r.taskCount(), r.cpusPerTask()),
		"TRES=" + r.tres(),
		fmt.Sprintf("Socks/Node=* NtasksPerN:B:S:C=%d:0:*:* CoreSpec=*", r.slurm().Asked.TasksPerNode),
		fmt.Sprintf("MinCPUsNode=%d %s MinTmpDiskNode=0", r.cpusPerTask(), memory),
		fmt.Sprintf("Features=%s DelayBoot=00:00:00", cmp.Or(r.job.Constraint, null)),
		fmt.Sprintf("OverSubscribe=OK Contiguous=0 Licenses=%s Network=(null)", cmp.Or(r.slurm().Asked.Licenses, null)),
		"Command=" + cmp.Or(r.slurm().ScriptName, strings.Join(strings.Fields(r.job.Command), " "), null),
		"WorkDir=" + cmp.Or(r.workdir(), null),
	}
	if comment := r.slurm().Comment; comment != "" {
		out = append(out, "Comment="+comment)
	}
	if r.job.Slurm != nil {
		stdout, stderr, stdin := r.files()
		out = append(out, "StdErr="+stderr, "StdIn="+stdin, "StdOut="+stdout)
	}
	out = append(out, "Power=")
	if gres := r.gres(); gres != "" {
		out = append(out, "TresPerNode="+gres)
	}
	return out
}

// showNodes prints the named nodes, or all.
func (p *program) showNodes(args []string, one bool) error {
	api, err := p.api()
	if err != nil {
		return err
	}
	list, err := api.Nodes(p.ctx)
	if err != nil {
		return refused("slurm_load_node", err)
	}
	names, err := hostlist.Expand(strings.Join(args, ","))
	if err != nil {
		return err
	}
	nodes := list.Nodes
	if len(names) > 0 {
		nodes = nil
		for _, name := range names {
			i := slices.IndexFunc(list.Nodes, func(n wire.Node) bool { return n.ID == name })
			if i < 0 {
				return &invalid{fmt.Sprintf("Node %s not found", name)}
			}
			nodes = append(nodes, list.Nodes[i])
		}
	}
	for i := range nodes {
		if err := p.record(p.nodeLines(&nodes[i], fleet.Partitions(list)), one); err != nil {
			return err
		}
	}
	return nil
}

// nodeLines returns a node in the lines of scontrol.
func (p *program) nodeLines(n *wire.Node, parts []fleet.Partition) []string {
	held, _, _ := fleet.Cores(n, p.now)
	var of []string
	for _, part := range parts {
		if slices.Contains(part.Nodes, n.ID) {
			of = append(of, part.Name)
		}
	}
	memory := fleet.Mebibytes(n.MemoryGB)
	state := strings.ToUpper(string(fleet.State(n, p.now)))
	switch state {
	case "DRAINED":
		state = "IDLE+DRAIN"
	case "DRAINING":
		state = "MIXED+DRAIN"
	}
	gpus := ""
	if n.GPUCount > 0 {
		gpus = fmt.Sprintf(",gres/gpu=%d", n.GPUCount)
	}
	allocated := ""
	if used := fleet.GPUsInUse(n); held > 0 || used > 0 {
		allocated = fmt.Sprintf("cpu=%d,mem=%s", held, form.FormatMemory(fleet.Mebibytes(n.MemoryHeld)))
		if used > 0 {
			allocated += fmt.Sprintf(",gres/gpu=%d", used)
		}
	}
	lines := []string{
		fmt.Sprintf("NodeName=%s CoresPerSocket=1 ", n.ID),
		fmt.Sprintf("CPUAlloc=%d CPUEfctv=%d CPUTot=%d CPULoad=N/A", held, n.CPUs, n.CPUs),
		"AvailableFeatures=" + cmp.Or(fleet.Features(n), null),
		"ActiveFeatures=" + cmp.Or(fleet.Features(n), null),
		"Gres=" + cmp.Or(fleet.Gres(n, fleet.AnyGPU), null),
		"GresUsed=" + fleet.UsedGres(n),
		fmt.Sprintf("NodeAddr=%s NodeHostName=%s Version=%s", cmp.Or(n.Hostname, n.ID), cmp.Or(n.Hostname, n.ID), n.Version),
		fmt.Sprintf("RealMemory=%d AllocMem=%d FreeMem=N/A Sockets=%d Boards=1", memory, fleet.Mebibytes(n.MemoryHeld), n.CPUs),
		fmt.Sprintf("State=%s%s ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A", state, fleet.Silent(n)),
		"Partitions=" + strings.Join(of, ",") + " ",
		fmt.Sprintf("BootTime=Unknown SlurmdStartTime=%s", moment(n.Registered, "Unknown")),
		"LastBusyTime=Unknown",
		fmt.Sprintf("CfgTRES=cpu=%d,mem=%s,billing=%d%s", n.CPUs, form.FormatMemory(memory), n.CPUs, gpus),
		"AllocTRES=" + allocated,
	}
	if n.Reason != "" {
		lines = append(lines, "Reason="+n.Reason)
	}
	return lines
}

// showPartitions prints the named partitions, or all.
func (p *program) showPartitions(args []string, one bool) error {
	api, err := p.api()
	if err != nil {
		return err
	}
	list, err := api.Nodes(p.ctx)
	if err != nil {
		return refused(loadNodes, err)
	}
	all := fleet.Partitions(list)
	for _, name := range args {
		if !slices.ContainsFunc(all, func(part fleet.Partition) bool { return part.Name == name }) {
			return &invalid{fmt.Sprintf("Partition %s not found", name)}
		}
	}
	for _, part := range all {
		if !chosen(args, part.Name) {
			continue
		}
		if err := p.record(partitionLines(&part, list.Nodes), one); err != nil {
			return err
		}
	}
	return nil
}

func partitionLines(part *fleet.Partition, nodes []wire.Node) []string {
	var cpus, memory, gpus int64
	for i := range nodes {
		if n := &nodes[i]; slices.Contains(part.Nodes, n.ID) {
			cpus, memory, gpus = cpus+n.CPUs, memory+fleet.Mebibytes(n.MemoryGB), gpus+n.GPUCount
		}
	}
	limit := "UNLIMITED"
	if part.Limit > 0 {
		limit = form.FormatSpan(seconds(part.Limit))
	}
	span, most := "NONE", "UNLIMITED"
	if part.Usual > 0 {
		span = form.FormatSpan(seconds(part.Usual))
	}
	if part.MaxNodes > 0 {
		most = strconv.FormatInt(part.MaxNodes, 10)
	}
	usual := map[bool]string{true: "YES", false: "NO"}[part.Default]
	tres := fmt.Sprintf("cpu=%d,mem=%s,node=%d,billing=%d", cpus, form.FormatMemory(memory), len(part.Nodes), cpus)
	if gpus > 0 {
		tres += ",gres/gpu=" + strconv.FormatInt(gpus, 10)
	}
	return []string{
		"PartitionName=" + part.Name,
		"AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL",
		"AllocNodes=ALL Default=" + usual + " QoS=N/A",
		"DefaultTime=" + span + " DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO",
		"MaxNodes=" + most + " MaxTime=" + limit + " MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED",
		"Nodes=" + words.List(part.Nodes),
		"PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO",
		"OverTimeLimit=NONE PreemptMode=OFF",
		fmt.Sprintf("State=UP TotalCPUs=%d TotalNodes=%d SelectTypeParameters=NONE", cpus, len(part.Nodes)),
		"JobDefaults=(null)",
		"DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED",
		"TRES=" + tres,
	}
}

// showConfig prints the settings that programs look for.
func (p *program) showConfig() error {
	api, err := p.api()
	if err != nil {
		return err
	}
	peers, err := api.Peers(p.ctx)
	if err != nil {
		return refused("slurm_load_ctl_conf", err)
	}
	lines := [][2]string{
		{"ClusterName", clusterName},
		{"MaxArraySize", strconv.Itoa(form.MaxIndex + 1)},
		{"MinJobAge", fmt.Sprintf("%d sec", int(keptFor.Seconds()))},
		{"SelectType", "select/cons_tres"},
		{"GresTypes", "gpu"},
		{"SLURM_VERSION", "berth-" + p.host.Version},
	}
	for i := range peers.Peers {
		lines = append(lines, [2]string{fmt.Sprintf("SlurmctldHost[%d]", i), peers.Peers[i].Name + "(" + peers.Peers[i].Address + ")"})
	}
	fmt.Fprintf(p.out, "Configuration data as of %s\n", moment(p.now, ""))
	for _, l := range lines {
		fmt.Fprintf(p.out, "%-23s = %s\n", l[0], l[1])
	}
	return nil
}

// ping prints which peers can be reached.
func (p *program) ping(_ *option.Line, _ []string) error {
	api, err := p.api()
	if err != nil {
		return err
	}
	peers, err := api.Peers(p.ctx)
	if err != nil {
		return refused("slurm_ping", err)
	}
	for i := range peers.Peers {
		v := &peers.Peers[i]
		role, state := "backup", "DOWN"
		if v.Name == peers.Leader {
			role = "primary"
		}
		if v.Reachable || v.Self {
			state = "UP"
		}
		fmt.Fprintf(p.out, "Slurmctld(%s) at %s is %s\n", role, v.Name, state)
	}
	return nil
}
