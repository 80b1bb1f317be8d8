package model

import "time"

// Sample is a GPU's measurements at one moment. It is soft: it travels next to renewals, is kept in memory
// only, and never enters the log.
type Sample struct {
	GPU          GPUID     `cbor:"1,keyasint,omitempty"`
	Utilization  uint8     `cbor:"2,keyasint,omitempty"` // percent of the last moments in which a kernel ran
	MemoryUsedMB uint32    `cbor:"3,keyasint,omitempty"`
	Temperature  int16     `cbor:"4,keyasint,omitempty"` // °C
	PowerWatts   uint32    `cbor:"5,keyasint,omitempty"`
	Processes    []Process `cbor:"6,keyasint,omitempty"`
	Warning      string    `cbor:"7,keyasint,omitempty"` // what is odd about it, though nothing is wrong

	Unused time.Duration `cbor:"8,keyasint,omitempty"` // for how long the job that holds it has left it at 0 %

	Unmeasured bool `cbor:"9,keyasint,omitempty"` // its utilization is unknown
}

// Process is a process that uses a GPU.
type Process struct {
	PID      int32  `cbor:"1,keyasint,omitempty"`
	User     string `cbor:"2,keyasint,omitempty"`
	MemoryMB uint32 `cbor:"3,keyasint,omitempty"`
	Managed  bool   `cbor:"4,keyasint,omitempty"` // it belongs to an attempt of ours
}
