package dependency_test

import (
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/model/dependency"
)

func TestDependenciesAreJudged(t *testing.T) {
	t.Parallel()
	open, ok := model.Job{Tasks: 3, Open: 1, Failed: 1}, model.Job{Tasks: 3, EndIndex: 9}
	failed, canceled := model.Job{Tasks: 3, Failed: 1, EndIndex: 9}, model.Job{Tasks: 3, Canceled: 1, EndIndex: 9}
	for _, v := range []struct {
		kind dependency.Kind
		on   model.Job
		want dependency.State
	}{
		{dependency.AfterOK, open, dependency.Waits},
		{dependency.AfterOK, ok, dependency.Met},
		{dependency.AfterOK, failed, dependency.Never},
		{dependency.AfterOK, canceled, dependency.Never},
		{dependency.AfterAny, open, dependency.Waits},
		{dependency.AfterAny, ok, dependency.Met},
		{dependency.AfterAny, failed, dependency.Met},
		{dependency.AfterNotOK, ok, dependency.Never},
		{dependency.AfterNotOK, failed, dependency.Met},
		{dependency.AfterNotOK, canceled, dependency.Met},
		{dependency.AfterBegin, open, dependency.Waits},
		{dependency.AfterBegin, model.Job{Tasks: 3, Open: 3, Begun: 3}, dependency.Met},
		{dependency.AfterBegin, model.Job{Tasks: 3, Begun: 3, Canceled: 3, EndIndex: 9}, dependency.Met},
		{dependency.AfterCorr, open, dependency.Waits},
		{dependency.AfterCorr, ok, dependency.Met},
		{dependency.AfterCorr, failed, dependency.Never},
	} {
		if got := v.kind.Judge(&v.on); got != v.want {
			t.Errorf("%s on %+v is %s, want %s", v.kind, v.on, got, v.want)
		}
	}
}

func TestConditionsAreWritten(t *testing.T) {
	t.Parallel()
	list := []dependency.After{
		{Job: 5, Kind: dependency.AfterOK, Any: true},
		{Job: 6, Kind: dependency.AfterBegin, Delay: 10 * time.Minute, Any: true},
		{Job: 7, Kind: dependency.AfterCorr},
	}
	if got, want := dependency.Texts(list), []string{"aftercorr:7", "afterok:5?after:6+10"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if err := dependency.Validate(list); err != nil {
		t.Errorf("the list is refused: %v", err)
	}
	for name, bad := range map[string]dependency.After{
		"seconds":             {Job: 8, Kind: dependency.AfterBegin, Delay: time.Second},
		"a delay of an end":   {Job: 8, Kind: dependency.AfterOK, Delay: time.Minute},
		"a delay of 367 days": {Job: 8, Kind: dependency.AfterBegin, Delay: 367 * 24 * time.Hour},
		"a negative delay":    {Job: 8, Kind: dependency.AfterBegin, Delay: -time.Minute},
		"the same again":      {Job: 7, Kind: dependency.AfterCorr, Any: true},
	} {
		if dependency.Validate(append(slices.Clone(list), bad)) == nil {
			t.Errorf("%s: %+v is accepted", name, bad)
		}
	}
}
