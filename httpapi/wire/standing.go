package wire

// Presented is the body of POST /cluster/standing.
type Presented struct {
	Certificate []byte `json:"certificate" doc:"certificate of a member, which an authority of the cluster has signed: X.509 in DER, as base64"`
}

// Standing is the answer: whether the cluster takes the certificate.
type Standing struct {
	Success    bool   `json:"success"`
	AnsweredBy string `json:"answered_by"`
	Refused    string `json:"refused,omitempty" enum:"removed,replaced,revoked,expired,generation,other" doc:"why the certificate is refused; absent: it is taken"`
	Message    string `json:"message,omitempty" doc:"the reason in words, and what to do"`
}

// Why a certificate is refused.
const (
	RefusedRemoved    = "removed"    // the peer was removed from the cluster
	RefusedReplaced   = "replaced"   // another certificate of the member was issued with a join token since
	RefusedRevoked    = "revoked"    // an admin has revoked the certificates of the member
	RefusedExpired    = "expired"    // by the clock of the peer that answers
	RefusedGeneration = "generation" // of a generation that a recovery or a restore has replaced
	RefusedOther      = "other"
)
