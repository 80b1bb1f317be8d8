package sim

import (
	"sync"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/fence"
)

// clock is a machine's two clocks: CLOCK_BOOTTIME, whose rate may be wrong by a little, and the wall clock, which may also be set. They are
// read at any time from any goroutine.
type clock struct {
	mu     sync.Mutex
	from   time.Time     // when the rate was last set
	boot   time.Duration // CLOCK_BOOTTIME then
	offset time.Duration // of the wall clock, from the true time and what boot has gained on it
	ppm    int           // rate error, parts per million
}

// newClock returns the clock of a machine that has been up for so long.
func newClock(up time.Duration) *clock { return &clock{from: time.Now(), boot: up} }

func (c *clock) now() (boot time.Duration, wall time.Time) {
	passed := time.Since(c.from)
	drift := passed / 1_000_000 * time.Duration(c.ppm)
	return c.boot + passed + drift, time.Now().Add(drift + c.offset)
}

// Boot returns CLOCK_BOOTTIME.
func (c *clock) Boot() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	boot, _ := c.now()
	return boot
}

// Wall returns the time of day as the machine has it.
func (c *clock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, wall := c.now()
	return wall
}

// reading returns both clocks, read together.
func (c *clock) reading() fence.Reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	boot, wall := c.now()
	return fence.Reading{Boot: fence.Boot(boot), Real: model.TimeOf(wall)}
}

// setRate sets the rate error from now on.
func (c *clock) setRate(ppm int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	boot, wall := c.now()
	c.boot, c.offset, c.from, c.ppm = boot, time.Until(wall), time.Now(), ppm
}

// jump sets the wall clock by so much.
func (c *clock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// restart makes the clock that of a kernel that has just started.
func (c *clock) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, wall := c.now()
	c.boot, c.offset, c.from = time.Second, time.Until(wall), time.Now()
}

// stand sets CLOCK_BOOTTIME back by so much, as a virtual machine's pause does without the guest's knowledge.
func (c *clock) stand(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boot -= d
}

// set sets the wall clock to the true time and this far ahead of it.
func (c *clock) set(ahead time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, wall := c.now()
	c.offset += ahead - time.Until(wall)
}
