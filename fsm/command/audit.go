package command

import (
	"fmt"
	"net/netip"
	"slices"
)

// Audited reports whether commands of the kind are in the audit trail. All are but those by which machines
// report on themselves: beats and reports of nodes, which jobs' timelines hold, the clock, outcomes of
// deliveries, the scheduler's memory, and that a session is in use.
func (k Kind) Audited() bool {
	return !slices.Contains([]Kind{
		KindRenew, KindReport, KindInventory, KindAdvanceClock, KindSteer, KindMarkDeliveries, KindNearLimit,
		KindConfirmTrust, KindRenewSession,
	}, k)
}

// shown reports whether bodies of the kind hold neither secrets nor what users run, so that the audit trail
// may repeat them to all of its readers.
func (k Kind) shown() bool {
	return slices.Contains([]Kind{
		KindRaiseLevel, KindSetRunning, KindSetPolicy, KindSetRetention, KindSetLimit, KindAdjustLimit, KindSetTuning, KindSetWeight,
		KindSetPools, KindCancel, KindSetPriority, KindHold, KindRelease, KindRequeue, KindExtend, KindPurge, KindDropDependencies, KindBook,
		KindCancelBooking, KindSetBookingCaps, KindSetNodeMode, KindSetNodeLabels, KindConfirmDead, KindSetGPUMode, KindRetire,
		KindDropWebhook, KindTestWebhook, KindSetDefaults, KindAdjustPolicy, KindBeginImport, KindEndImport,
		KindRevokeCertificate, KindAdvanceRotation, KindAbortRotation, KindLockRestart,
	}, k)
}

// Shown returns the encoded body, if the audit trail may show it and it is short; otherwise nil. It must not
// be changed.
func (c *Command) Shown() []byte {
	const maxShown = 1024 // bytes
	if c.Err != nil || !c.kind.shown() || len(c.raw) > maxShown {
		return nil
	}
	return c.raw
}

// ShownBody decodes the result of Shown. It fails on bytes that are not a body of the kind.
func ShownBody(k Kind, raw []byte) (Body, error) {
	b := k.Fresh()
	if b == nil {
		return nil, &UnknownError{fmt.Sprintf("a command of kind %d", k)}
	}
	if err := modes.dec.Unmarshal(raw, b); err != nil {
		return nil, fmt.Errorf("reading a %s: %w", k, err)
	}
	return b, nil
}

// FromClient returns the command as sent by a client at an address; an invalid address is left out. Only
// commands of users' requests carry one: it costs bytes in the log.
func (c Command) FromClient(address string) Command {
	if _, err := netip.ParseAddr(address); err == nil && len(address) <= MaxAddress {
		c.From = address
	}
	return c
}

// Target returns the target of a command, such as "job 17"; empty if its kind implies it. A submission's job
// is known by its result only. The target is part of the audit trail's chain, so that for a given body it must never change.
func (c *Command) Target() string {
	if t, has := c.Body.(interface{ Target() string }); has && c.Err == nil {
		return t.Target()
	}
	return ""
}
