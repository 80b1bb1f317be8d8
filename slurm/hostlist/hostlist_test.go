package hostlist

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"":                            "",
		"login":                       "login",
		"node[1-2,05-07],login":       "node1 node2 node05 node06 node07 login",
		"node[08-11]":                 "node08 node09 node10 node11",
		"node[8-11]":                  "node8 node9 node10 node11",
		"node[001,1]":                 "node001 node1",
		"n[1-2]g[0-1]":                "n1g0 n1g1 n2g0 n2g1",
		"rack[1-2]-a":                 "rack1-a rack2-a",
		"a,b,a":                       "a b a",
		"a b\tc\nd":                   "a b c d",
		",a,,b,":                      "a b",
		"gpu[3]":                      "gpu3",
		"node[ 1, 3-4]":               "node1 node3 node4",
		"[1-3]":                       "1 2 3",
		"c-[09-10].site.example":      "c-09.site.example c-10.site.example",
		"x[01-02][1-2]":               "x011 x012 x021 x022",
		"node[99-101],node[0099-101]": "node99 node100 node101 node0099 node0100 node0101",
	} {
		got, err := Expand(list)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("Expand(%q) is %q, %v; want %q", list, got, err, want)
		}
	}
}

func TestExpandErrors(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"node[1-2":               `node list: "node[1-2" has a [ without a ]`,
		"node1-2]":               `node list: "node1-2]" has a ] without a [ before it`,
		"node[1-[2]]":            `node list: "node[1-[2]]" has a [ inside of brackets; close the first one with ]`,
		"node[]":                 `node list: "" in "node[]" must be a number or a range such as 1-8`,
		"node[a]":                `node list: "a" in "node[a]" must be a number or a range such as 1-8`,
		"node[1-]":               `node list: "1-" in "node[1-]" must be a number or a range such as 1-8`,
		"node[1-2-3]":            `node list: "1-2-3" in "node[1-2-3]" must be a number or a range such as 1-8`,
		"a,node[3-1]":            `node list: the range "3-1" in "node[3-1]" ends before it begins`,
		"node[+1]":               `node list: "+1" in "node[+1]" must be a number or a range such as 1-8`,
		"node[0-65536]":          `node list: with "node[0-65536]" there are more than 65536 names`,
		"a,node[0-65535]":        `node list: with "node[0-65535]" there are more than 65536 names`,
		"n[0-999]m[0-999]":       `node list: with "n[0-999]m[0-999]" there are more than 65536 names`,
		"n[1234567890123456789]": `node list: "1234567890123456789" in "n[1234567890123456789]" must be a number or a range such as 1-8`,
		"n[0-65535," + strings.Repeat("0-65535,", 9) + "1]": `node list: with "n[0-65535,0-65535,0-65535,0-65535,0-65535,0-65535,0-65535,0-6553..." there are more than 65536 names`,
		strings.Repeat("x", 80) + "[0-60000]":               `node list: the names are longer than 4194304 bytes`,
	} {
		_, err := Expand(list)
		if err == nil || err.Error() != want || !errors.Is(err, ErrList) {
			t.Errorf("Expand(%.80q) fails with %v; want %s", list, err, want)
		}
	}
	if _, err := Expand(strings.Repeat("a", MaxLength+1)); err == nil {
		t.Error("a list that is too long is read")
	}
}

func TestCompress(t *testing.T) {
	t.Parallel()
	for names, want := range map[string]string{
		"":                              "",
		"login":                         "login",
		"node1":                         "node1",
		"node1 node2":                   "node[1-2]",
		"node1 node2 node05 node06":     "node[1-2,05-06]",
		"node3 node1 node2":             "node[3,1-2]",
		"node9 node10":                  "node[9-10]",
		"node09 node10":                 "node[09-10]",
		"node99 node100 node101":        "node[99-101]",
		"node1 node1":                   "node[1,1]",
		"node1 login node2":             "node1,login,node2",
		"a1 b1 b2":                      "a1,b[1-2]",
		"node99999999 node100000000":    "node[99999999-100000000]",
		"n1234567890123456789 n1":       "n1234567890123456789,n1",
		"r0n0 r0n1 r1n0":                "r0n[0-1],r1n0",
		"1 2 3":                         "[1-3]",
		"node1 node02":                  "node[1,02]",
		"node09 node10 node100 node101": "node[09-10,100-101]",
	} {
		if got := Compress(strings.Fields(names)); got != want {
			t.Errorf("Compress(%q) is %q, want %q", names, got, want)
		}
	}
	if got := Compress([]string{"", "a1", "", "a2"}); got != "a[1-2]" {
		t.Errorf("with empty names it is %q", got)
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	for text, counts := range map[string][]int{
		"": nil, "2(x2),1": {2, 2, 1}, "4": {4}, "0": {0}, "1,2,1": {1, 2, 1}, "8(x3)": {8, 8, 8},
	} {
		if got := CompressCounts(counts); got != text {
			t.Errorf("CompressCounts(%v) is %q, want %q", counts, got, text)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"node[1-2,05-07],login", "n[1-2]g[0-1]", "a b", "[", "]", "n[9-10", "x[0-70000]", "n[000]", "a[1]b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		names, err := Expand(list)
		if err != nil {
			if !errors.Is(err, ErrList) || names != nil {
				t.Fatalf("Expand(%q): %v with %d names", list, err, len(names))
			}
			return
		}
		again, err := Expand(Compress(names))
		if err != nil || !slices.Equal(names, again) {
			t.Fatalf("%q expands to %q, compressed to %q, which expands to %q, %v", list, names, Compress(names), again, err)
		}
	})
}
