package wire

// Settings is the answer to GET and PUT /cluster/settings: the settings of the whole cluster.
type Settings struct {
	Settings []Setting `json:"settings" nullable:"false"`
}

// Setting is one value of the whole cluster.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value" doc:"in force"`
	Default string `json:"default"`
	Allowed string `json:"allowed"`
	What    string `json:"description"`
}

// SetSettings is the body of PUT /cluster/settings: what is left out stays as it is.
type SetSettings struct {
	Settings map[string]string `json:"settings" doc:"values by name, as GET /cluster/settings writes them"`
}
