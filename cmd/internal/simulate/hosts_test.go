package simulate

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestReadHosts(t *testing.T) {
	for _, v := range []struct {
		name, text string
		want       []Host
		wrong      string // part of the error
	}{
		{"the least", "nodes: [{gpus: 8}]", []Host{{GPUs: 8, Model: "GPU", MemoryMB: 80_000}}, ""},
		{"everything", "nodes:\n  - {name: a, count: 2, gpus: 4, model: H100, memory_gb: 94.5, labels: {zone: b, ssd: ''}}\n  - {name: b, gpus: 1}\n", []Host{
			{"a-1", 4, "H100", 94_500, "ssd,zone=b"}, {"a-2", 4, "H100", 94_500, "ssd,zone=b"}, {"b", 1, "GPU", 80_000, ""},
		}, ""},
		{"nothing", "", nil, "it has no nodes"},
		{"no nodes", "nodes: []", nil, "it has no nodes"},
		{"a second document", "nodes: [{gpus: 1}]\n---\nnodes: [{gpus: 2}]\n", nil, "a second document"},
		{"a list", "[1, 2]", nil, "it may have nodes, a list of groups"},
		{"another key", "nodes: [{gpus: 1, gpu: 2}]", nil, "memory_gb and labels: line 1: there is no \"gpu\""},
		{"no GPUs", "nodes: [{gpus: 1}, {name: x}]", nil, "group 2 of its nodes: gpus must be 1 to 64, not 0"},
		{"too many GPUs", "nodes: [{gpus: 65}]", nil, "gpus must be 1 to 64, not 65"},
		{"GPUs below 0", "nodes: [{gpus: -8}]", nil, "gpus must be 1 to 64, not -8"},
		{"no number", "nodes: [{gpus: many}]", nil, "line 1: a whole number must stand here, not \"many\""},
		{"a number for nodes", "\nnodes: 3", nil, "line 2: nodes must be a list of groups, such as [{gpus: 8}], not \"3\""},
		{"a number for a group", "nodes: [3]", nil, "line 1: a group must be names with values, such as {gpus: 8}, not \"3\""},
		{"a list for labels", "nodes: [{gpus: 1, labels: [a]}]", nil, "labels must be names with values, such as {zone: a}, not a list"},
		{"a list for a name", "nodes: [{gpus: 1, name: [a]}]", nil, "text must stand here, not a list"},
		{"text for memory", "nodes: [{gpus: 1, memory_gb: much}]", nil, "a number must stand here, not \"much\""},
		{"a word", "nodes", nil, "the file must begin with nodes:, not with \"nodes\""},
		{"two mistakes", "nodes: [{gpus: x, gpu: 2}]", nil, "not \"x\"; line 1: there is no \"gpu\""},
		{"no YAML", "nodes: [", nil, "line 1: did not find expected node content"},
		{"count 0", "nodes: [{gpus: 1, count: 0}]", nil, "count must be 1 or more"},
		{"too many nodes", "nodes: [{gpus: 1, count: 9999}, {gpus: 1, count: 2}]", nil, "at most 10000; it is 2"},
		{"a name twice", "nodes: [{gpus: 1, name: x}, {gpus: 1, name: x}]", nil, "there is another node x"},
		{"a bad name", "nodes: [{gpus: 1, name: 'a b'}]", nil, "name \"a b\""},
		{"a bad model", "nodes: [{gpus: 1, model: \"a\\nb\"}]", nil, "model must be"},
		{"no memory", "nodes: [{gpus: 1, memory_gb: 0}]", nil, "memory_gb must be above 0"},
		{"not a number", "nodes: [{gpus: 1, memory_gb: .nan}]", nil, "memory_gb must be above 0"},
		{"a bad label", "nodes: [{gpus: 1, labels: {'a b': c}}]", nil, "labels \"a b=c\" must be labels"},
		{"two labels in one", "nodes: [{gpus: 1, labels: {zone: 'a,ssd'}}]", nil, "labels \"zone=a,ssd\" must be labels"},
		{"a label that takes away", "nodes: [{gpus: 1, labels: {'zone-': ''}}]", nil, "labels \"zone-\" must be labels"},
	} {
		got, err := ReadHosts(strings.NewReader(v.text))
		switch {
		case v.wrong == "" && (err != nil || !slices.Equal(got, v.want)):
			t.Errorf("%s: %+v, %v; want %+v", v.name, got, err, v.want)
		case v.wrong != "" && (err == nil || !strings.Contains(err.Error(), v.wrong)):
			t.Errorf("%s: %+v, %v; want an error with %q", v.name, got, err, v.wrong)
		}
	}
}

// Jobs run on the nodes that they ask for, whatever is free elsewhere.
func TestPlayOnUnlikeNodes(t *testing.T) {
	hosts, err := ReadHosts(strings.NewReader("nodes: [{name: a, gpus: 4, model: A100, memory_gb: 40, labels: {zone: x}}, {name: h, gpus: 2, model: H100}]"))
	if err != nil {
		t.Fatal(err)
	}
	run := func(trace string) (string, error) {
		jobs, _, err := Read(strings.NewReader("job_id,submit_s,gpus,duration_s,nodes,gpu_type,gpu_memory_gb,constraint,priority,project\n" + trace))
		if err != nil {
			return "", err
		}
		var log bytes.Buffer
		o := options("fcfs")
		o.Hosts, o.Log = hosts, &log
		_, err = Play(t.Context(), jobs, o)
		return log.String(), err
	}
	log, err := run("one,0,2,10,,h100,,,,\ntwo,0,1,10,,,80,,4,p\nthree,0,1,10,,,,zone=x,,\nfour,0,2,10,2,,,,,\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0.000,start,one,2,h:2", "10.000,start,two,1,h:1", "0.000,start,three,1,a:1"} {
		if !strings.Contains(log, want+"\n") {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	for trace, wrong := range map[string]string{
		"one,0,2,10,,b200,,,,":   "job one of the trace (line 2) could never run on these nodes",
		"one,0,2,10,,,,(,,":      "job one of the trace (line 2): ",
		"one,0,2,10,0,,,,,":      "line 2 of the trace: nodes \"0\" must be 1 to",
		"one,0,2,10,,,-3,,,":     "line 2 of the trace: gpu_memory_gb \"-3\" must be",
		"one,0,2,10,,,,,11,":     "line 2 of the trace: priority \"11\" must be 1 to 10, or low, normal, high or critical",
		"one,0,3,10,2,,,,,":      "job one of the trace (line 2): ",
		"one,0,2,10,,,,,urgent,": "line 2 of the trace: priority",
	} {
		if _, err := run(trace + "\n"); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v; want %q", trace, err, wrong)
		}
	}
}

// A page has the figures of all runs and a picture of each that was played, is sound,
// and needs nothing from elsewhere.
func TestHTML(t *testing.T) {
	trace := "0,a,0,16,100\n1,b,0,8,50\n"
	page := HTML([]*Result{{Policy: "<actual>", Jobs: 2}, play(t, trace, options("fcfs")), play(t, trace, options("fair_share"))})
	text := string(page)
	for _, v := range []struct {
		part string
		want int
	}{
		{"<svg ", 2},
		{"<td>&lt;actual&gt;</td>", 1},
		{"<h2>fcfs</h2>", 1},
		{"<h2>fair_share</h2>", 1},
		{"<script", 0},
		{"src=", 0},
		{"href=", 0},
		{"@import", 0},
		{"GPUs in use, of 16", 2},
		{"<td>-</td>", 1},
		{">seconds</text>", 4},
	} {
		if n := strings.Count(text, v.part); n != v.want {
			t.Errorf("%q is there %d times, not %d", v.part, n, v.want)
		}
	}
	d := xml.NewDecoder(strings.NewReader(strings.Replace(strings.Replace(text, "<!doctype html>", "", 1), `<meta charset="utf-8">`, "", 1)))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
