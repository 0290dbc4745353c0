package config

// Retry says what happens to a request that failed.
type Retry struct {
	// Attempts is how often a request is sent, the first time included.
	Attempts int `toml:"attempts" default:"3"`
	// FirstDelayMs doubles with each attempt.
	FirstDelayMs int `toml:"first_delay_ms" default:"200"`
	// MaxDelayMs is the longest delay between two attempts, however many there were.
	MaxDelayMs int `toml:"max_delay_ms" default:"5000"`
}
