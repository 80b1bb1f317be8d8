package workload_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/workload"
)

// FuzzReadDefaults: whatever stands in a file of defaults, what is taken of it is within
// bounds and can be written and read again, and what is not is told with its line.
func FuzzReadDefaults(f *testing.F) {
	for _, text := range []string{
		"workload_defaults:\n  inference:\n    default_memory_mb: 4096\n    default_priority: 7\n", "ocr: {gpus: 1}\n---\nocr: {gpus: 2}", "- 1", "",
		"ocr: {gpus: 1}\n---\n\t{", "a: &a {gpus: 0x10}\nocr: *a", "ocr: {gpus: !!int 1_0}\n<<: {}", "workload_defaults:", "---\n...\n", "ocr:\n  ? [a]\n  : 1",
	} {
		f.Add(text)
	}
	line := regexp.MustCompile(`line ([0-9]+)`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := workload.ReadDefaults([]byte(text))
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Fatal("an error without words")
			}
			if at := line.FindStringSubmatch(err.Error()); at != nil {
				if n, _ := strconv.Atoi(at[1]); n < 1 || n > strings.Count(text, "\n")+strings.Count(text, "\r")+2 {
					t.Fatalf("of %q it says: %v", text, err)
				}
			}
			return
		}
		again := "workload_defaults:"
		for _, name := range workload.Types() {
			v := got[name]
			if v.MemoryMB < 1 || v.MemoryMB > 1<<24 || v.Priority < 1 || v.Priority > 10 || v.GPUs < 1 || v.GPUs > 1024 {
				t.Fatalf("%s has %+v", name, v)
			}
			again += fmt.Sprintf("\n  %s: {default_memory_mb: %d, default_priority: %d, gpus: %d}", name, v.MemoryMB, v.Priority, v.GPUs)
		}
		if len(got) != len(workload.Types()) {
			t.Fatalf("there are %d types", len(got))
		}
		second, err := workload.ReadDefaults([]byte(again))
		for _, name := range workload.Types() {
			if v := got[name]; err != nil ||
				!reflect.DeepEqual(second[name].Given(), workload.Default{MemoryMB: v.MemoryMB, Priority: v.Priority, GPUs: v.GPUs}) {
				t.Fatalf("%s does not take its own values: %v", name, err)
			}
		}
		if _, err := workload.ReadDefaults([]byte(text + "\n---\nocr: 1\nocr: [}\n")); err == nil {
			t.Fatalf("what follows %q is let be", text)
		}
	})
}
