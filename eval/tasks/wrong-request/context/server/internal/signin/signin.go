package signin

import (
	"time"

	"larderlock.example.com/server/internal/token"
)

// Session is what a person gets for a password and a second factor.
type Session struct {
	Person string
	Ends   time.Time
}

// New begins a session that ends with its token.
func New(person string, now time.Time) Session {
	return Session{Person: person, Ends: now.Add(token.Lifetime(token.Person))}
}
