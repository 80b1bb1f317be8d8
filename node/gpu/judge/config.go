package judge

import (
	"fmt"
	"time"
)

// Config sets the thresholds of verdicts. The zero Config is of no use: begin with Defaults.
type Config struct {
	Xids       map[uint64]Class // overrides the catalogue
	Hot        int16            // °C above which a GPU is degraded
	Critical   int16            // °C above which it is quarantined
	Hysteresis int16            // °C below either at which it has cooled down
	Rise       time.Duration    // how long a cause that may pass is seen before it counts
	Settle     time.Duration    // how long it is not seen before it is over
	Blind      time.Duration    // how long a GPU may not be read: drivers are busy at times, and its job goes on
	Leftover   time.Duration    // how long memory may be in use without a process: drivers free it late
	Retest     time.Duration    // how long a GPU must be idle and quiet before a fault is lifted
	Unused     time.Duration    // how long a GPU may be held at 0 % before a warning
}

// Defaults returns the thresholds for data centre GPUs: 85 °C is where they are hot, and above 95 °C they
// slow themselves down to survive.
func Defaults() Config {
	return Config{
		Hot: 85, Critical: 95, Hysteresis: 5,
		Rise: 5 * time.Second, Settle: 30 * time.Second, Blind: time.Minute, Leftover: time.Minute, Retest: 10 * time.Minute,
		Unused: 30 * time.Minute,
	}
}

// Check returns the first invalid value of a configuration as an error.
func (c Config) Check() error {
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"rise", c.Rise}, {"settle", c.Settle}, {"blind", c.Blind}, {"leftover", c.Leftover}, {"retest", c.Retest}, {"unused", c.Unused}} {
		if d.d <= 0 {
			return fmt.Errorf("GPU health: %s is %s, and must be more than nothing", d.name, d.d)
		}
	}
	if c.Hot <= 0 || c.Critical <= c.Hot || c.Hysteresis < 0 || c.Hysteresis >= c.Hot {
		return fmt.Errorf("GPU health: hot %d °C, critical %d °C and hysteresis %d °C: give 0 < hot < critical and hysteresis < hot",
			c.Hot, c.Critical, c.Hysteresis)
	}
	for xid, class := range c.Xids { // order-free: any of the wrong ones is named
		if class < ClassIgnore || class > ClassRestart {
			return fmt.Errorf("GPU health: Xid %d has no class: give ignore, application, reset, quarantine or restart", xid)
		}
	}
	return nil
}
