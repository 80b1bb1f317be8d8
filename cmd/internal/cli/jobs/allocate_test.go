package jobs

import "testing"

func TestIsAllocation(t *testing.T) {
	for text, is := range map[string]bool{
		"web-1200000": true, "a-b-7": true, "17-100": true, "17": false, "17.3": false, "17_3": false, "17.[3-9]": false, "@": false,
		"-7": false, "web-": false, "web-x": false, "": false,
	} {
		if isAllocation(text) != is {
			t.Errorf("%q: want %t", text, is)
		}
	}
}
