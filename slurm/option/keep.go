package option

// Setter keeps the value of an option in O. Its error says what is wrong with the value.
type Setter[O any] = func(o *O, value string) error

// Keep returns what keeps a value as parse reads it.
func Keep[O, T any](at func(*O) *T, parse func(value string) (T, error)) Setter[O] {
	return func(o *O, value string) (err error) {
		*at(o), err = parse(value)
		return err
	}
}

// Assign returns what keeps a fixed value of an option without one of its own.
func Assign[O, T any](at func(*O) *T, v T) Setter[O] {
	return Keep(at, func(string) (T, error) { return v, nil })
}

// On returns what keeps that an option was given.
func On[O any](at func(*O) *bool) Setter[O] { return Assign(at, true) }
