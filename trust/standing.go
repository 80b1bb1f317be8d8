package trust

import (
	"crypto/x509"
	"time"
)

// Judge returns why this machine refuses a certificate; nil: the certificate counts. A certificate that no authority of the cluster has
// signed is refused for that, whatever else is wrong with it: an invented certificate tells its caller nothing about members.
func (c *Credentials) Judge(leaf *x509.Certificate) error {
	rules := c.rules(false, "")
	i, err := identityOf(leaf)
	if err != nil {
		return refused(FaultForm, "the certificate %s was not issued by Berth: %v", subject(leaf), err)
	}
	lived := *rules
	lived.Now = within(rules.Now, leaf)
	if err := lived.signed(leaf, i); err != nil {
		return err
	}
	return rules.check(leaf, i)
}

// within returns an instant, or the nearest one at which a certificate is valid.
func within(at time.Time, leaf *x509.Certificate) time.Time {
	switch {
	case at.Before(leaf.NotBefore):
		return leaf.NotBefore
	case at.After(leaf.NotAfter):
		return leaf.NotAfter
	}
	return at
}

// Known returns how this machine recognizes the peers of its cluster without showing a certificate of its own.
func (c *Credentials) Known() Known {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Known{c.roots, c.highest}
}
