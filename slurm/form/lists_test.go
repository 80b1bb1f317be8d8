package form

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

func TestGPUs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]GPUs{
		"4":                        {Count: 4},
		"0":                        {},
		"a100:4":                   {Model: "a100", Count: 4},
		"a100":                     {Model: "a100", Count: 1},
		"v100":                     {Model: "v100", Count: 1},
		"nvidia_a100_80gb_pcie:2":  {Model: "nvidia_a100_80gb_pcie", Count: 2},
		"a100_3g.20gb:1":           {Model: "a100", Profile: "3g.20gb", Count: 1},
		"nvidia_a100_mig_1g.5gb:2": {Model: "nvidia_a100", Profile: "1g.5gb", Count: 2},
		"1g.10gb+me":               {Profile: "1g.10gb+me", Count: 1},
		"1k":                       {Count: 1024},
	} {
		if got, err := ParseGPUs(text); err != nil || got != want {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	refused(t, ParseGPUs, map[string]string{
		"":           `"" ` + gpuForms,
		"a100:":      `"a100:" ` + gpuForms,
		":4":         `":4" ` + gpuForms,
		"a100:x":     `"a100:x" ` + gpuForms,
		"4x":         `"4x" ` + gpuForms,
		"a:1,b:2":    `"a:1,b:2" asks for GPUs of several models; a job has one model: write one MODEL:N, or N for any`,
		"a100|h10:1": `"a100|h10:1" has no valid model of GPUs: letters, digits and ._-+ only, at most 64`,
	})
	for g, want := range map[GPUs][2]string{
		{Model: "nvidia_a100_80gb-PCIe", Count: 2}:    {"nvidia a100 80gb pcie", "nvidia_a100_80gb-PCIe:2"},
		{Model: "a100", Profile: "3g.20gb", Count: 1}: {"a100 mig 3g.20gb", "a100_3g.20gb:1"},
		{Count: 4}:                    {"", "4"},
		{Profile: "1g.5gb", Count: 1}: {"mig 1g.5gb", "1g.5gb:1"},
		{Model: "a100-sxm4-80gb", Profile: "", Count: 16}: {"a100 sxm4 80gb", "a100-sxm4-80gb:16"},
	} {
		if g.Words() != want[0] || g.String() != want[1] {
			t.Errorf("%+v is found as %q, written as %q", g, g.Words(), g)
		}
	}
	if words := (GPUs{Model: "nvidia_a100", Profile: "3g.20gb"}).Words(); !model.OfModel(words, "NVIDIA A100-SXM4-40GB MIG 3g.20gb") {
		t.Errorf("%q finds no part of a GPU", words)
	}
}

func TestGres(t *testing.T) {
	t.Parallel()
	a100 := GPUs{Model: "A100", Count: 4}
	for text, want := range map[string]Gres{
		"gpu:A100:4":          {HasGPU: true, GPUs: a100},
		"gpu:2,nvme:8":        {HasGPU: true, GPUs: GPUs{Count: 2}, Others: []string{"nvme:8"}},
		"nvme:1,gpu:2":        {HasGPU: true, GPUs: GPUs{Count: 2}, Others: []string{"nvme:1"}},
		"gres/gpu:2":          {HasGPU: true, GPUs: GPUs{Count: 2}},
		"gres:gpu:2":          {HasGPU: true, GPUs: GPUs{Count: 2}},
		"gpu:0":               {HasGPU: true},
		"gpu":                 {HasGPU: true, GPUs: GPUs{Count: 1}},
		"gpu:v100":            {HasGPU: true, GPUs: GPUs{Model: "v100", Count: 1}},
		"gpu:A100:4(S:0-1)":   {HasGPU: true, GPUs: a100},
		"gres/gpu=2":          {HasGPU: true, GPUs: GPUs{Count: 2}},
		"gpu:a100_1g.5gb:2":   {HasGPU: true, GPUs: GPUs{Model: "a100", Profile: "1g.5gb", Count: 2}},
		"none":                {None: true},
		"lscratch:100":        {Others: []string{"lscratch:100"}},
		"gpu:1,gpu:2":         {HasGPU: true, GPUs: GPUs{Count: 3}},
		"gpu:2,tmpdisk:1024M": {HasGPU: true, GPUs: GPUs{Count: 2}, Others: []string{"tmpdisk:1024M"}},
	} {
		if got, err := ParseGres(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	refused(t, ParseGres, map[string]string{
		"":                `"" has an empty resource; write gpu:N, or a list such as gpu:a100:4,nvme:200`,
		"gpu:2,":          `"gpu:2," has an empty resource; write gpu:N, or a list such as gpu:a100:4,nvme:200`,
		"shard:4":         `"shard:4" asks for a share of a GPU; Berth gives whole GPUs and MIG parts: write gpu:N`,
		"gpu:a:1,gpu:b:2": `"gpu:a:1,gpu:b:2" asks for GPUs of several models; a job has one model: write one gpu:MODEL:N, or gpu:N for any`,
		"gpu:":            `"gpu:" is no number of GPUs: write gpu:N or gpu:MODEL:N, such as gpu:a100:4`,
		"gpu:a100:x":      `"gpu:a100:x" is no number of GPUs: write gpu:N or gpu:MODEL:N, such as gpu:a100:4`,
	})
}

func TestArray(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[0-4]%2": "0-4 2 1", "0-10:2,15": "0-10:2,15 0 1", "1": "1 0 1", "3,1,2,2": "1-3 0 1", "0-4%1": "0-4 1 1", "[1,3,7]": "1,3,7 0 1",
		"0-15:4": "0-12:4 0 4", "[0-4%2]": "0-4 2 1", "0-9999": "0-9999 0 1", "5,10": "5,10 0 5",
	} {
		a, err := ParseArray(text)
		got := strings.Join([]string{a.Berth(), itoa(a.AtOnce), itoa(a.Step())}, " ")
		if err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
		x, err := model.ParseIndices(a.Berth())
		if err != nil || len(x) != len(a.Indices) || x.String() != a.Berth() {
			t.Errorf("Berth reads %q as %v, %v", a.Berth(), x, err)
		}
	}
	const forms = ` is no array: write numbers and ranges such as 0-9, 1,3,7 or 0-99:10, and %N for at most N tasks at once`
	refused(t, ParseArray, map[string]string{
		"":         `""` + forms,
		"a":        `"a"` + forms,
		"5-1":      `"5-1"` + forms,
		"0-9:0":    `"0-9:0"` + forms,
		"7:2":      `"7:2"` + forms,
		"1,":       `"1,"` + forms,
		"0-4%0":    `"0-4%0" has no valid number after %: how many tasks run at once, at least 1, as in 0-99%8`,
		"0-4%":     `"0-4%" has no valid number after %: how many tasks run at once, at least 1, as in 0-99%8`,
		"[0-4":     `"[0-4" has a [ without a ]`,
		"0-10000":  `"0-10000" has more than 10000 tasks, the most that an array has`,
		"1000000":  `"1000000" has a task number above 999999, the largest one`,
		"0-999999": `"0-999999" has more than 10000 tasks, the most that an array has`,
	})
}

func itoa(n int) string { return GPUs{Count: n}.String() }

func TestJob(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]JobRef{
		"12": {Job: 12}, "12_3": {Job: 12, Tasks: []int{3}}, "12_[1-4]": {Job: 12, Tasks: []int{1, 2, 3, 4}}, "12_*": {Job: 12, All: true},
		"12.0": {Job: 12, Step: "0"}, "12.batch": {Job: 12, Step: "batch"}, "12_3.1": {Job: 12, Tasks: []int{3}, Step: "1"},
		"12_[1-2%1]": {Job: 12, Tasks: []int{1, 2}},
	} {
		got, err := ParseJob(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
		if again, err := ParseJob(got.String()); err != nil || !reflect.DeepEqual(again, want) {
			t.Errorf("%q is written as %q", text, got)
		}
	}
	const forms = ` is no job id: write a number such as 12, a task such as 12_3, or tasks such as 12_[1-4]`
	refused(t, ParseJob, map[string]string{
		"": `""` + forms, "0": `"0"` + forms, "x": `"x"` + forms, "12_": `"12_"` + forms, "12_[4-1]": `"12_[4-1]"` + forms, "-5": `"-5"` + forms,
		"99999999999999999999": `"99999999999999999999"` + forms,
		"12+0":                 `"12+0" names a part of a heterogeneous job, which Berth does not have: name the job itself`,
		"12.x":                 `"12.x" names no step: write JOB.NUMBER, JOB.batch or JOB.extern`,
	})
	list, err := ParseJobs("12, 13_[1,3],14")
	if err != nil || len(list) != 3 || list[1].String() != "13_[1,3]" {
		t.Errorf("the list is %v, %v", list, err)
	}
	if _, err := ParseJobs("12,,13"); err == nil {
		t.Error("an empty id is read")
	}
}

func TestDependency(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"afterok:1:2?after:3+5":            "afterok:1?afterok:2?after:3+5",
		"singleton":                        "singleton",
		"aftercorr:7":                      "aftercorr:7",
		"afterany:1_2,afternotok:3":        "afterany:1_2,afternotok:3",
		"AfterOK:5":                        "afterok:5",
		"12":                               "afterany:12",
		"12:13":                            "afterany:12,afterany:13",
		"after:3+5:4":                      "after:3+5,after:4",
		"afterok:12_*":                     "afterok:12_*",
		"afterok:1,singleton,afterany:2:3": "afterok:1,singleton,afterany:2,afterany:3",
	} {
		d, err := ParseDependency(text)
		if err != nil || d.String() != want {
			t.Errorf("%q is %q, %v", text, d, err)
		}
		if again, err := ParseDependency(d.String()); err != nil || !reflect.DeepEqual(again, d) {
			t.Errorf("%q is written as %q, %v", text, d, err)
		}
	}
	const ids = ` is no job id: write a number such as 12, a task such as 12_3, or tasks such as 12_[1-4]`
	refused(t, ParseDependency, map[string]string{
		"":                    `"" ` + dependencyForms,
		"afterdone:3":         `"afterdone:3" ` + dependencyForms,
		"afterok":             `"afterok" has no job: write afterok:JOB, such as afterok:12`,
		"afterok:":            `""` + ids,
		"afterok:$JOB":        `"$JOB"` + ids,
		"singleton:3":         `"singleton:3" is no dependency: singleton has no job after it`,
		"afterburstbuffer:3":  `"afterburstbuffer:3" waits for a burst buffer, which Berth does not have: write afterany:JOB`,
		"expand:3":            `"expand:3" adds GPUs to a running job, which Berth does not do: submit a job with the GPUs that are needed in all`,
		"afterok:1,after:2?3": `"afterok:1,after:2?3" mixes commas and question marks; use commas if all conditions must hold, and ? if one is enough`,
		"afterok:1+5":         `"1+5" has minutes after +, which only after:JOB+MINUTES has`,
		"after:1+x":           `"1+x" has no valid time after +: whole minutes, as in after:12+5`,
		"afterok:1.0":         `"1.0" names a step; a job waits for jobs: leave out the part after the point`,
	})
}

func TestMoment(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("zone", 3600)
	now := time.Date(2026, 3, 14, 15, 30, 20, 0, zone) // a Saturday
	for text, want := range map[string]string{
		"now": "2026-03-14T15:30:20", "now+1hour": "2026-03-14T16:30:20", "now+30": "2026-03-14T15:30:50", "now + 2 days": "2026-03-16T15:30:20",
		"now+1weeks": "2026-03-21T15:30:20", "now-10minutes": "2026-03-14T15:20:20", "NOW+1Hour": "2026-03-14T16:30:20",
		"16:00": "2026-03-14T16:00:00", "15:30": "2026-03-15T15:30:00", "03:00:05": "2026-03-15T03:00:05", "4:00pm": "2026-03-14T16:00:00",
		"4:00 PM": "2026-03-14T16:00:00", "12:00am": "2026-03-15T00:00:00", "12:30 pm": "2026-03-15T12:30:00",
		"2026-01-31T12:00": "2026-01-31T12:00:00", "2026-12-31": "2026-12-31T00:00:00", "2026-04-01T01:02:03": "2026-04-01T01:02:03",
		"midnight": "2026-03-15T00:00:00", "noon": "2026-03-15T12:00:00", "teatime": "2026-03-14T16:00:00", "fika": "2026-03-15T15:00:00",
		"tomorrow": "2026-03-15T00:00:00", "today": "2026-03-14T00:00:00", "16:00 tomorrow": "2026-03-15T16:00:00", "tomorrow noon": "2026-03-15T12:00:00",
		"elevenses": "2026-03-15T11:00:00", "0401": "2026-04-01T00:00:00", "0101": "2027-01-01T00:00:00", "040126": "2026-04-01T00:00:00",
		"04/01": "2026-04-01T00:00:00", "04/01/27": "2027-04-01T00:00:00", "04.01.27": "2027-04-01T00:00:00", "04/01 10:00": "2026-04-01T10:00:00",
		"2026-04-01 10:00": "2026-04-01T10:00:00", "uts0": "1970-01-01T01:00:00",
	} {
		m, err := ParseMoment(text, now)
		if got := m.At.Format("2006-01-02T15:04:05"); err != nil || got != want {
			t.Errorf("%q is %s, %v; want %s", text, got, err, want)
		}
		if m.Relative && !now.Add(m.Delay).Equal(m.At) {
			t.Errorf("%q is %v after now, and %v", text, m.Delay, m.At)
		}
	}
	for text, want := range map[string]string{"16:00": "2026-03-13T16:00:00", "15:00": "2026-03-14T15:00:00", "0401": "2025-04-01T00:00:00", "0101": "2026-01-01T00:00:00"} {
		m, err := ParsePast(text, now)
		if got := m.At.Format("2006-01-02T15:04:05"); err != nil || got != want {
			t.Errorf("in the past %q is %s, %v; want %s", text, got, err, want)
		}
	}
	const delta = ` is no time: after now write + or - and a whole number of seconds, minutes, hours, days or weeks, such as now+1hour`
	refused(t, func(text string) (Moment, error) { return ParseMoment(text, now) }, map[string]string{
		"": `"" ` + momentForms, "soon": `"soon" ` + momentForms, "25:00": `"25:00" ` + momentForms, "12:60": `"12:60" ` + momentForms,
		"13:00pm": `"13:00pm" ` + momentForms, "13/01": `"13/01" ` + momentForms, "1": `"1" ` + momentForms, "tea": `"tea" ` + momentForms,
		"pm": `"pm" ` + momentForms, "utsx": `"utsx" ` + momentForms, "2026-02-30": `"2026-02-30" is no time: there is no such day`,
		"now+1fortnight": `"now+1fortnight"` + delta, "now1hour": `"now1hour"` + delta, "now+": `"now+"` + delta, "now+99999weeks": `"now+99999weeks"` + delta,
	})
}
