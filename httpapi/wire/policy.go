package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// Policies is the answer to GET /orchestrator/policies: how the queue is ordered, the alternatives,
// and what can be tuned.
type Policies struct {
	Policy     string      `json:"policy" doc:"in force"`
	Policies   []Policy    `json:"policies"`
	Parameters []Parameter `json:"parameters"`

	MaxConcurrent *int64 `json:"max_concurrent_jobs,omitempty" doc:"of the cluster; absent: no limit"`
	AutoRetry     bool   `json:"enable_auto_retry" doc:"failed jobs are retried, unless they set another number"`
	MaxRetries    int64  `json:"max_retries" doc:"number of retries"`

	Config PolicyConfig `json:"policy_config" doc:"the same in the form of PUT /orchestrator/policies"`

	Predictions []Prediction `json:"predictions" nullable:"false" doc:"accuracy of the predicted run times that determine the order, over the cluster's life"`
}

// Prediction is the accuracy of predicted run times of attempts that ended by themselves.
type Prediction struct {
	Source          string  `json:"source" enum:"estimate,history" doc:"the users' estimates, or earlier runs of similar jobs"`
	Attempts        int64   `json:"attempts"`
	WithinFactorTwo int64   `json:"within_factor_two"`
	ErrorDoublings  float64 `json:"error_doublings" doc:"sum of the errors, in both directions: 1 is a factor of two"`
	MeanErrorFactor float64 `json:"mean_error_factor" doc:"geometric mean of the error factors, in both directions"`
}

// Policy is an available order.
type Policy struct {
	Name string `json:"name"`
	What string `json:"description"`
}

// Parameter is a value that tunes the scheduler.
type Parameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Range string `json:"range" doc:"what is allowed"`
	What  string `json:"description"`
}

// SetPolicy is the body of PUT /orchestrator/policy and /orchestrator/policies:
// what is left out stays as it is.
type SetPolicy struct {
	Policy        string          `json:"policy,omitempty" doc:"how the queue is ordered"`
	Parameters    Tuning          `json:"parameters,omitempty" doc:"values by name, as GET /orchestrator/policies writes them, or as numbers and booleans"`
	MaxConcurrent *OrNone[int64]  `json:"max_concurrent_jobs,omitempty" doc:"the most that run at once on the cluster, or none: the limit running of PUT /quotas/cluster"`
	AutoRetry     *bool           `json:"enable_auto_retry,omitempty" doc:"whether failed jobs are retried, three times unless they set another number: the parameter max_retries"`
	Config        json.RawMessage `json:"policy_config,omitempty" doc:"an object of the other fields, in place of them"`
}

// Tuning is values of parameters by name.
type Tuning map[string]string

// UnmarshalJSON accepts numbers and booleans in place of their text; the error names the parameter.
func (t *Tuning) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return errors.New("must be an object of values by name")
	}
	*t = make(Tuning, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		raw := bytes.TrimSpace(fields[name])
		text := string(raw)
		switch raw[0] {
		case '{', '[', 'n':
			return errors.New(name + " must be a text, a number, true or false")
		case '"':
			if err := json.Unmarshal(raw, &text); err != nil {
				return err
			}
		}
		(*t)[name] = text
	}
	return nil
}

// PolicyConfig is the values that a [SetPolicy] can change, as one object.
type PolicyConfig struct {
	Policy        string            `json:"policy"`
	Parameters    map[string]string `json:"parameters"`
	MaxConcurrent *OrNone[int64]    `json:"max_concurrent_jobs"`
	AutoRetry     bool              `json:"enable_auto_retry"`
}
