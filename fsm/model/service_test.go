package model

import "testing"

func TestClassesOfPriorities(t *testing.T) {
	service := []Class{0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4}
	job := []Class{0, 1, 2, 3, 4, 2, 3, 3, 3, 4, 4}
	for p := uint8(1); p <= MaxPriority; p++ {
		if got := ServiceClass(p); got != service[p] {
			t.Errorf("a service's priority %d is %s", p, got)
		}
		if got := JobClass(p); got != job[p] {
			t.Errorf("a job's priority %d is %s", p, got)
		}
	}
}
