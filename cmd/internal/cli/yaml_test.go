package cli

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Text that readers of YAML 1.1, such as PyYAML, take for something else stands in quotes, as a
// value and as a name. The list is PyYAML's: what its resolver does not take for text.
func TestYAMLIsTextToReadersOfYAML11(t *testing.T) {
	t.Parallel()
	quoted := strings.Fields(`y Y yes Yes YES n N no No NO true True TRUE false False FALSE on On ON off Off OFF
		~ null Null NULL = << 0 17 +1 -1 0777 0o777 0x1F 0b101 1_000 1:30 1:30:00 190:20:30.15 1.5 +.5 -.5 . .. - 1e3 1.5e+3 6.8523015e+5 1_0.5
		.inf .Inf .INF +.inf -.inf .nan .NaN .NAN 2026-01-31 2026-01-31T20:00:00Z 2001-12-14t21:59:43.10-05:00 12e03`)
	quoted = append(quoted, "", "2026-01-31 20:00:00")
	plain := strings.Fields(`train llama-70b a:b not nope yesterday onward e3 x1 node1 n1,n2 訓練 inf nan https://example.com/x?a=b`)
	for i, text := range append(quoted, plain...) {
		var out strings.Builder
		if err := printYAML(&out, map[string]string{"v": text}); err != nil {
			t.Fatal(err)
		}
		want := "v: " + text + "\n"
		if i < len(quoted) {
			want = "v: \"" + text + "\"\n"
		}
		if out.String() != want {
			t.Errorf("%q is written as %q, want %q", text, out.String(), want)
		}
		out.Reset()
		if err := printYAML(&out, map[string]any{text: 1}); err != nil {
			t.Fatal(err)
		}
		back := map[string]int{}
		if err := yaml.Unmarshal([]byte(out.String()), &back); err != nil || back[text] != 1 {
			t.Errorf("the name %q is written as %q: %v", text, out.String(), err)
		}
	}
	var out strings.Builder
	if err := printYAML(&out, map[string]any{"no": []any{true, nil, 1.5, 17, "17"}}); err != nil || out.String() != "\"no\":\n  - true\n  - null\n  - 1.5\n  - 17\n  - \"17\"\n" {
		t.Errorf("%s, %v", out.String(), err)
	}
}
