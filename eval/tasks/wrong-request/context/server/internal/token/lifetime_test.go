package token

import (
	"testing"
	"time"
)

func TestPersonsSignInTwiceADay(t *testing.T) {
	if got := Lifetime(Person); got != 12*time.Hour {
		t.Fatalf("a person's token is valid for %s", got)
	}
}
