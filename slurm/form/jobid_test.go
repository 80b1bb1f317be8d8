package form

import (
	"slices"
	"strconv"
	"testing"
)

// TestTaskNumber checks that the number of a task is read as that task, and that no other form may be added to it.
func TestTaskNumber(t *testing.T) {
	t.Parallel()
	if n := TaskNumber(12, 3); n != 1000012000003 {
		t.Errorf("task 3 of job 12 has the number %d", n)
	}
	for _, job := range []uint64{1, 12, 999_999_999} {
		for _, task := range []int{0, 7, MaxIndex} {
			text := strconv.FormatUint(TaskNumber(job, task), 10)
			ref, err := ParseJob(text)
			if err != nil || ref.Job != job || !slices.Equal(ref.Tasks, []int{task}) {
				t.Errorf("%s is %+v, %v, not task %d of job %d", text, ref, err, task, job)
			}
			if ref, err := ParseJob(text + "_3"); err == nil {
				t.Errorf("%s_3 is %+v", text, ref)
			}
		}
	}
	if ref, err := ParseJob("1000000000003"); err == nil {
		t.Errorf("the number of a task of no job is %+v", ref)
	}
}
