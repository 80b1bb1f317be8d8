// Package judge decides the health of a GPU: from the readings of its driver, once a second, and from its
// record. The package is pure: the same readings give the same verdicts, and a GPU's verdict never depends on
// another GPU.
//
//	record, events = config.Next(record, now, reading)
//	record.Verdict()   // healthy, or what is wrong and why
//
// What can be wrong is a list of causes (cause.go). Each counts only after it was seen for a while, and is
// over only after it was not seen for a while, so that a verdict does not flap. The gravest of those that
// count is the verdict:
//
//	cause                                 verdict      counts after  is over after
//	the GPU is lost                       quarantined  Rise          a restart of the host
//	the driver does not answer            quarantined  Blind         Settle
//	the driver reports errors             quarantined  Blind         Settle
//	the driver asks for a reset           quarantined  at once       Settle
//	memory rows cannot be remapped        quarantined  at once       never
//	an Xid of class reset                 quarantined  at once       Retest
//	an Xid of class quarantine, restart   quarantined  at once       a restart of the host, and Retest
//	hotter than Critical                  quarantined  Rise          Settle below Critical - Hysteresis
//	memory that no process accounts for   dirty        Leftover      Settle
//	a process that is not Berth's         unmanaged    Rise          Settle
//	hotter than Hot                       degraded     Rise          Settle below Hot - Hysteresis
//	memory rows wait to be remapped       degraded     at once       Settle
//	uncorrected memory errors             degraded     at once       Settle
//
// A degraded GPU stays in use. The others get no new work, and the cluster stops a job that is on a
// quarantined one, uncharged: so quarantine is for what a job does not survive, or what threatens the
// hardware.
//
// # Xid codes
//
// The driver reports faults as numbered Xid errors. Their meaning is a table (xid.go) whose defaults follow
// NVIDIA's Xid catalogue and the recovery that it names; for codes about which tools disagree (32, 38, 44,
// 63, 68, 69, 94, 109) the catalogue decides. Config.Xids overrides the table. An unknown code quarantines.
//
// An Xid of class application is its job's fault: it makes an event and leaves the GPU as it is. One of class
// reset leaves a fault on the GPU that is lifted when the driver recommends no recovery and nothing has
// happened for Retest while the GPU was idle; each relapse doubles that time, up to a day. Where the driver
// does not report the recommended recovery, only a restart of the host counts as one. Faults outlive the
// agent: a caller that stores records stores Fault, and passes it to Restore.
//
//berth:pure
package judge
