package format

import "strings"

// SacctFields returns the columns of sacct with their widths. The order decides what a shortened name means.
func SacctFields() []Field {
	sized := func(width int, names ...string) []Field {
		all := make([]Field, len(names))
		for i, name := range names {
			all[i] = Field{Key: strings.ToLower(name), Names: []string{name}, Title: name, Width: width}
		}
		return all
	}
	var all []Field
	for _, list := range [][]Field{
		sized(10, "Account"), sized(19, "AdminComment"), sized(10, "AllocCPUS", "AllocNodes", "AllocTRES"), sized(7, "AssocID"),
		sized(10, "AveCPU", "AveRSS", "AveVMSize", "Cluster"), sized(14, "Comment"), sized(19, "Constraints"), sized(10, "CPUTime", "CPUTimeRAW"),
		sized(15, "DerivedExitCode"), sized(10, "Elapsed", "ElapsedRaw"), sized(19, "Eligible", "End"), sized(8, "ExitCode"), sized(20, "Flags"),
		sized(6, "GID"), sized(9, "Group"), sized(-12, "JobID", "JobIDRaw"), sized(10, "JobName"), sized(10, "MaxRSS"), sized(10, "MaxRSSNode", "MaxRSSTask"),
		sized(10, "MaxVMSize", "NCPUS"), sized(8, "NNodes"), sized(15, "NodeList"), sized(8, "NTasks"), sized(10, "Partition", "Planned", "PlannedCPU"), sized(10, "Priority", "QOS"),
		sized(22, "Reason"), sized(8, "ReqCPUS"), sized(10, "ReqMem"), sized(8, "ReqNodes"), sized(10, "ReqTRES"), sized(20, "Reservation"), sized(10, "Reserved"), sized(8, "Restarts"),
		sized(19, "Start"), sized(10, "State"), sized(19, "Submit"), sized(20, "SubmitLine"), sized(10, "Suspended"), sized(10, "SystemCPU"), sized(10, "Timelimit", "TimelimitRaw"),
		sized(10, "TotalCPU"), sized(6, "UID"), sized(9, "User"), sized(10, "UserCPU"), sized(10, "WCKey"), sized(20, "WorkDir"),
	} {
		all = append(all, list...)
	}
	return all
}
