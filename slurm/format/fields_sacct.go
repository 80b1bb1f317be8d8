package format

import (
	"strconv"
	"strings"
)

// SacctFields returns the columns of sacct with their widths: all that Slurm 22.05 to 24.05 have. The order decides what a shortened name
// means.
func SacctFields() (all []Field) {
	const list = "10 Account; 19 AdminComment; 10 AllocCPUS AllocNodes AllocTRES; 7 AssocID; 10 AveCPU AveCPUFreq; 14 AveDiskRead AveDiskWrite; 10 AvePages AveRSS AveVMSize; " +
		"16 BlockID; 10 Cluster; 14 Comment; 19 Constraints; 20 Container; 14 ConsumedEnergy; 17 ConsumedEnergyRaw; 10 CPUTime CPUTimeRAW; 19 DBIndex; " +
		"15 DerivedExitCode; 10 Elapsed ElapsedRaw; 19 Eligible End; 8 ExitCode; 20 Extra; 12 FailedNode; 20 Flags; 6 GID; 9 Group; -12 JobID JobIDRaw; " +
		"10 JobName; 9 Layout; 15 Licenses; 12 MaxDiskRead; 15 MaxDiskReadNode MaxDiskReadTask; 12 MaxDiskWrite; 16 MaxDiskWriteNode MaxDiskWriteTask; " +
		"8 MaxPages; 12 MaxPagesNode; 14 MaxPagesTask; 10 MaxRSS; 10 MaxRSSNode MaxRSSTask; 10 MaxVMSize; 14 MaxVMSizeNode MaxVMSizeTask; 8 McsLabel; " +
		"10 MinCPU MinCPUNode MinCPUTask; 10 NCPUS; 8 NNodes; 15 NodeList; 8 NTasks; 10 Partition Planned PlannedCPU PlannedCPURAW; 10 Priority QOS; " +
		"6 QOSRAW; 10 QOSREQ; 22 Reason; 10 ReqCPUFreq ReqCPUFreqMin ReqCPUFreqMax ReqCPUFreqGov; 8 ReqCPUS; 10 ReqMem; 8 ReqNodes; 10 ReqTRES; " +
		"20 Reservation; 8 ReservationId; 10 Reserved ResvCPU ResvCPURAW; 8 Restarts; 19 Start; 10 State; 20 StdErr StdIn StdOut; 19 Submit; " +
		"20 SubmitLine; 10 Suspended; 20 SystemComment; 10 SystemCPU; 10 Timelimit TimelimitRaw; 10 TotalCPU; 14 TRESUsageInAve TRESUsageInMax; " +
		"18 TRESUsageInMaxNode TRESUsageInMaxTask; 14 TRESUsageInMin; 18 TRESUsageInMinNode TRESUsageInMinTask; 14 TRESUsageInTot TRESUsageOutAve TRESUsageOutMax; " +
		"19 TRESUsageOutMaxNode TRESUsageOutMaxTask; 15 TRESUsageOutMin; 19 TRESUsageOutMinNode TRESUsageOutMinTask; 15 TRESUsageOutTot; 6 UID; " +
		"9 User; 10 UserCPU; 10 WCKey; 8 WCKeyID; 20 WorkDir"
	for group := range strings.SplitSeq(list, "; ") {
		words := strings.Fields(group)
		width, _ := strconv.Atoi(words[0]) // a number of the list above
		for _, name := range words[1:] {
			all = append(all, Field{Key: strings.ToLower(name), Names: []string{name}, Title: name, Width: width})
		}
	}
	return all
}
