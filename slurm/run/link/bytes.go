package link

import "encoding/json"

// JSON has only UTF-8, and replaces other bytes. What users name may have any bytes, so it goes as base64.

// askWire is an Ask as JSON.
type askWire struct {
	plainAsk
	Command, Env [][]byte
	Dir, Name    []byte
}

type plainAsk Ask

// MarshalJSON keeps all bytes.
func (a Ask) MarshalJSON() ([]byte, error) {
	return json.Marshal(askWire{plainAsk(a), toBytes(a.Command), toBytes(a.Env), []byte(a.Dir), []byte(a.Name)})
}

// UnmarshalJSON reads what MarshalJSON made.
func (a *Ask) UnmarshalJSON(data []byte) error {
	var w askWire
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*a = Ask(w.plainAsk)
	a.Command, a.Env, a.Dir, a.Name = toStrings(w.Command), toStrings(w.Env), string(w.Dir), string(w.Name)
	return nil
}

// streamWire is a Stream as JSON.
type streamWire struct {
	plainStream
	Pattern []byte
}

type plainStream Stream

// MarshalJSON keeps all bytes.
func (s Stream) MarshalJSON() ([]byte, error) {
	return json.Marshal(streamWire{plainStream(s), []byte(s.Pattern)})
}

// UnmarshalJSON reads what MarshalJSON made.
func (s *Stream) UnmarshalJSON(data []byte) error {
	var w streamWire
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*s = Stream(w.plainStream)
	s.Pattern = string(w.Pattern)
	return nil
}

func toBytes(list []string) [][]byte {
	var out [][]byte
	for _, s := range list {
		out = append(out, []byte(s))
	}
	return out
}

func toStrings(list [][]byte) []string {
	var out []string
	for _, b := range list {
		out = append(out, string(b))
	}
	return out
}
