// Package forecast predicts when jobs start and end, if nothing else is submitted.
//
// [Foresee] makes the future passes of the scheduler on a copy of the state that package virtual advances, with runs
// that are short, as long as is likely, and long. Where that would cost too much, the forecast continues in order, with
// bookings where they are expected to be.
//
//berth:pure
package forecast
