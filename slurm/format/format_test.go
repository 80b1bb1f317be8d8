package format

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// row returns a row with some values.
func row(pairs ...string) func(string) string {
	return func(key string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == key {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func queue() []func(string) string {
	return []func(string) string{
		row("jobarrayid", "128", "partition", "main", "name", "a-long-name", "username", "ada", "statecompact", "R", "state", "RUNNING", "timeused", "1-02:03:04",
			"numnodes", "2", "reasonlist", "node[1-2]", "batchhost", "node1"),
		row("jobarrayid", "129_[0-4%2]", "partition", "main", "name", "b", "username", "ada", "statecompact", "PD", "state", "PENDING", "timeused", "0:00", "numnodes", "1",
			"reasonlist", "(Priority)"),
	}
}

func TestSqueue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format string
		header bool
		want   string
	}{
		{DefaultSqueue, true, `             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
               128      main a-long-n      ada  R 1-02:03:04      2 node[1-2]
       129_[0-4%2]      main        b      ada PD       0:00      1 (Priority)
`},
		{"%T %B", false, "RUNNING node1\nPENDING \n"},
		{"%i|%j", true, "JOBID|NAME\n128|a-long-name\n129_[0-4%2]|b\n"},
		{"<%4j>", false, "<a-lo>\n<b   >\n"},
		{"%.4t%t", false, "   RR\n  PDPD\n"},
	} {
		f, err := Squeue(c.format)
		if err != nil {
			t.Errorf("%q: %v", c.format, err)
			continue
		}
		if got := f.Print(c.header, queue()); got != c.want {
			t.Errorf("%q prints\n%s\nwant\n%s", c.format, got, c.want)
		}
	}
	for _, letter := range "iAFKjuPTtMLlDCNBRrVSak" {
		if _, err := Squeue("%" + string(letter)); err != nil {
			t.Errorf("%%%c: %v", letter, err)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	f, err := SqueueNames("JobArrayID:.6,name:4,State,UserName:5|")
	if err != nil {
		t.Fatal(err)
	}
	want := " JOBIDNAMESTATE               USER |\n" +
		"   128a-loRUNNING             ada  |\n" +
		"129_[0b   PENDING             ada  |\n"
	if got := f.Print(true, queue()); got != want {
		t.Errorf("it prints\n%s\nwant\n%s", got, want)
	}
}

func TestSinfo(t *testing.T) {
	t.Parallel()
	f, err := Sinfo(DefaultSinfo)
	if err != nil {
		t.Fatal(err)
	}
	rows := []func(string) string{row("partition", "a-long-partition*", "available", "up", "time", "infinite", "nodes", "2", "statecompact", "idle", "nodelist", "node[1-2]")}
	want := "PARTITION         AVAIL  TIMELIMIT  NODES  STATE NODELIST\n" +
		"a-long-partition*    up   infinite      2   idle node[1-2]\n"
	if got := f.Print(true, rows); got != want {
		t.Errorf("it prints\n%s\nwant\n%s", got, want)
	}
	if got := f.Print(true, nil); got != "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n" {
		t.Errorf("without rows it prints %q", got)
	}
	if f, err := SinfoNames("nodehost:8,gres"); err != nil || f.Columns[1].Title != "GRES" {
		t.Errorf("names are %+v, %v", f, err)
	}
	for _, letter := range "PalDtTNGCm" {
		if _, err := Sinfo("%" + string(letter)); err != nil {
			t.Errorf("%%%c: %v", letter, err)
		}
	}
}

func TestSacct(t *testing.T) {
	t.Parallel()
	rows := []func(string) string{
		row("jobid", "128", "jobname", "a-long-name", "partition", "main", "account", "nlp", "alloccpus", "8", "state", "CANCELLED by 1001", "exitcode", "0:15"),
	}
	for _, c := range []struct {
		format    string
		parsable  Parsable
		delimiter string
		header    bool
		want      string
	}{
		{DefaultSacct, Padded, "", true, `JobID           JobName  Partition    Account  AllocCPUS      State ExitCode 
------------ ---------- ---------- ---------- ---------- ---------- -------- 
128          a-long-na+       main        nlp          8 CANCELLED+     0:15 
`},
		{"JobID,State", Between, "", true, "JobID|State\n128|CANCELLED by 1001\n"},
		{"JobID,State,", Trailing, "", false, "128|CANCELLED by 1001|\n"},
		{"jobid%5,jobname%-4,STATE%20", Padded, "", false, "  128 a-l+    CANCELLED by 1001 \n"},
		{"jobname,exit", Between, ";", false, "a-long-name;0:15\n"},
		{"JobIDRaw", Between, "", true, "JobIDRaw\n\n"},
	} {
		f, err := Sacct(c.format, c.parsable, c.delimiter)
		if err != nil {
			t.Errorf("%q: %v", c.format, err)
			continue
		}
		if got := f.Print(c.header, rows); got != c.want {
			t.Errorf("%q prints\n%s\nwant\n%s", c.format, got, c.want)
		}
	}
	for _, name := range strings.Fields("JobID JobIDRaw JobName State ExitCode Elapsed Start End Submit NodeList NNodes NCPUS AllocTRES MaxRSS Partition Account User") {
		if f, err := Sacct(name, Padded, ""); err != nil || f.Columns[0].Title != name {
			t.Errorf("%s is %+v, %v", name, f, err)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	sacct := func(text string) (Format, error) { return Sacct(text, Padded, "") }
	for _, c := range []struct {
		parse        func(string) (Format, error)
		format, want string
	}{
		{Squeue, "%i %!", `squeue: the format "%i %!" has %!, which is no column; columns are %a %A %b`},
		{Squeue, "%i %.5", `squeue: the format "%i %.5" ends where a letter is expected; columns are %a %A %b`},
		{Squeue, "text", `squeue: the format "text" has no column; columns are %a %A %b`},
		{Squeue, "%99999i", `squeue: the width "99999" in the format "%99999i" is not a number up to 4096`},
		{SqueueNames, "jobid,foo:3", `squeue: the format "jobid,foo:3" has "foo", which is no column; columns are Account, JobID, tres-per-node`},
		{SqueueNames, "jobid:99999", `squeue: the width "99999" in the format "jobid:99999" is not a number up to 4096`},
		{Sinfo, "%k", `sinfo: the format "%k" has %k, which is no column; columns are %a %A %b`},
		{sacct, "jobid,foo", `sacct: the format "jobid,foo" has "foo", which is no column; columns are Account, AdminComment, AllocCPUS`},
		{sacct, "jobid%x", `sacct: the width "x" in the format "jobid%x" is not a number up to 4096`},
		{sacct, "", `sacct: the format "" has no column; columns are Account, AdminComment, AllocCPUS`},
	} {
		_, err := c.parse(c.format)
		var e *Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q fails with\n %v\nwant\n %s", c.format, err, c.want)
		}
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	list, err := ParseStates("pd,RUNNING, canceled,oom")
	if err != nil || !slices.Equal(list, []State{Pending, Running, Cancelled, OutOfMemory}) {
		t.Errorf("the list is %v, %v", list, err)
	}
	if list, err = ParseStates("all"); err != nil || len(list) != len(States()) {
		t.Errorf("all states are %v, %v", list, err)
	}
	if _, err = ParseStates("R,lost"); err == nil || !strings.HasPrefix(err.Error(), `"LOST" is no state of a job; states are all, BOOT_FAIL, CANCELLED, `) {
		t.Errorf("a wrong state: %v", err)
	}
	seen := map[string]bool{}
	for _, s := range States() {
		if short := s.Compact(); short == string(s) || seen[short] {
			t.Errorf("%s has the short word %q, which is missing or not its own", s, short)
		}
		seen[s.Compact()] = true
	}
	if State("X").Compact() != "X" || NodeState("x").Compact() != "x" || NodeMixed.Compact() != "mix" || NodeDraining.Compact() != "drng" {
		t.Error("wrong short words")
	}
	if Running.Ended() || Pending.Ended() || !Timeout.Ended() || !Completed.Ended() {
		t.Error("wrong ends")
	}
}

func TestFieldsAreDifferent(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string][]Field{"squeue": SqueueFields(), "sinfo": SinfoFields(), "sacct": SacctFields(), "sacctmgr": SacctmgrFields(), "sshare": SshareFields()} {
		seen := map[string]bool{}
		for _, f := range fields {
			if seen[f.Key] || f.Letter != 0 && seen["%"+string(f.Letter)] || f.Title == "" {
				t.Errorf("%s has %+v twice, or without a title", name, f)
			}
			seen[f.Key], seen["%"+string(f.Letter)] = true, true
		}
	}
}

// Each column that programs ask sacct for exists, and a whole name is that column and none that begins alike.
func TestColumnsOfSacct(t *testing.T) {
	t.Parallel()
	for _, f := range SacctFields() {
		got, err := Sacct(f.Title, Padded, "")
		if err != nil || len(got.Columns) != 1 || got.Columns[0].Key != f.Key {
			t.Errorf("%s: %+v, %v", f.Title, got, err)
		}
	}
	const asked = "ConsumedEnergy,ConsumedEnergyRaw,AveDiskRead,MaxDiskWrite,AveCPUFreq,TRESUsageInMax,TRESUsageOutTot,BlockID,Layout,QOSRAW,Container,FailedNode,ReqCPUFreq,StdOut,McsLabel," +
		"DBIndex,Extra,Licenses,QOSREQ,ResvCPURAW,SystemComment,WCKeyID,ReservationId,MinCPUTask,MaxVMSizeTask,PlannedCPURAW"
	if _, err := Sacct(asked, Padded, ""); err != nil {
		t.Error(err)
	}
}

func FuzzFormats(f *testing.F) {
	for _, seed := range []string{DefaultSqueue, DefaultSinfo, DefaultSacct, "JobID:.6,name:4", "%#.4i", "jobid%-3", "%%", ",", "%.%i"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sacct := func(text string) (Format, error) { return Sacct(text, Padded, "") }
		for _, parse := range []func(string) (Format, error){Squeue, SqueueNames, Sinfo, SinfoNames, sacct} {
			format, err := parse(text)
			var e *Error
			if err != nil && !errors.As(err, &e) {
				t.Fatal(err)
			}
			if err == nil && !strings.HasSuffix(format.Print(true, []func(string) string{row("jobid", "1\n2")}), "\n") {
				t.Fatalf("%q prints no whole lines", text)
			}
		}
	})
}

// sacctmgr and sshare read formats as sacct does, with columns of their own.
func TestAccounts(t *testing.T) {
	t.Parallel()
	cells := func(key string) string {
		return map[string]string{"account": "speech", "user": "ann", "rawshares": "100"}[key]
	}
	for _, c := range []struct {
		parse func(string, Parsable) (Format, error)
		text  string
		how   Parsable
		want  string
	}{
		{Sacctmgr, "account%12", Padded, "      speech \n"},
		{Sacctmgr, "acc%-8,user", Padded, "speech          ann \n"},
		{Sshare, "Account,User,RawShares", Between, "speech|ann|100\n"},
		{Sshare, "account", Padded, "speech               \n"},
	} {
		f, err := c.parse(c.text, c.how)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := f.Print(false, []func(string) string{cells}); got != c.want {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
}
