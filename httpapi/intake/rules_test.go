package intake

import (
	"strings"
	"testing"
)

func TestRulesThatAreNone(t *testing.T) {
	var c CommandRules
	for name, err := range map[string]error{
		"no name":          c.Forbid("", "x", ""),
		"a name of two":    c.Forbid("a b", "x", ""),
		"no pattern":       c.Forbid("a", "(", ""),
		"half a group":     c.Allow("a", "a)|(b", ""),
		"a back reference": c.Allow("a", `(x)\1`, ""),
		"a long message":   c.Allow("a", "x", strings.Repeat("x", 513)),
	} {
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
