package config

import "time"

// Default is what holds where the file of settings says nothing.
var Default = Settings{
	Listen:  ":7070",
	Retries: 8,
	Pause:   2 * time.Second,
	Keep:    14 * 24 * time.Hour,
}
