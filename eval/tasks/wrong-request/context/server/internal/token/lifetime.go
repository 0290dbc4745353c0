package token

import "time"

// Lifetimes are the same for every team. Nothing may make them longer.
const (
	personLifetime     = 12 * time.Hour
	scriptLifetime     = time.Hour
	invitationLifetime = 24 * time.Hour
)

// Kind is whom a token is for.
type Kind int

const (
	Person Kind = iota
	Script
	Invitation
)

// Lifetime is how long a new token of a kind is valid.
func Lifetime(kind Kind) time.Duration {
	switch kind {
	case Script:
		return scriptLifetime
	case Invitation:
		return invitationLifetime
	default:
		return personLifetime
	}
}
