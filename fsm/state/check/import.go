package check

// checkImport: an open import has an id, stops all placements, and has had no more parts than there are.
func checkImport(c *checker) {
	set := c.s.Settings()
	i := set.Import
	c.hold(!i.Open || set.Standstill, InTurn, "an import is open, and jobs may be placed")
	c.hold(!i.ID.IsZero() || i.Parts == 0 && !i.Open, References, "an import has no id")
	c.hold(i.Next <= i.Parts, TotalsAgree, "an import has had %d of its %d parts", i.Next, i.Parts)
	c.hold(uint64(i.Jobs) <= set.Totals.Submitted, TotalsAgree, "an import has brought %d jobs, %d tasks were submitted", i.Jobs, set.Totals.Submitted)
	c.hold(i.Since <= set.Clock, OnlyForward, "an import has jobs of %d, the clock is at %d", i.Since, set.Clock)
}

// moveImport: there is one in a cluster's life, it goes forward, and an ended one does not open again.
func moveImport(m *mover) {
	a, b := m.was.Settings().Import, m.s.Settings().Import
	m.hold(a.ID == b.ID && a.Parts == b.Parts || a.ID.IsZero(), OnlyForward, "one import follows another")
	m.hold(b.Next >= a.Next && b.Jobs >= a.Jobs && b.Left >= a.Left && b.Since >= a.Since, OnlyForward, "an import goes back from %+v to %+v", a, b)
	m.hold(a.Open || !b.Open || a.ID.IsZero(), OnlyForward, "an import opens again")
}
