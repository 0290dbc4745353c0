package settings

import "time"

const (
	defaultListen  = ":7070"
	defaultRetries = 3
	defaultPause   = 2 * time.Second
	defaultKeep    = 14 * 24 * time.Hour
)
