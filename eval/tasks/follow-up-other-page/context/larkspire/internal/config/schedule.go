package config

// Schedule is the section `schedule` of a sync's file.
type Schedule struct {
	Every       string `yaml:"every"`
	At          string `yaml:"at"`
	Timezone    string `yaml:"timezone" default:"UTC"`
	PauseWindow string `yaml:"pause_window"`
	CatchUp     bool   `yaml:"catch_up" default:"true"`
}

// renamed has keys that are refused, with the key to use.
var renamed = map[string]string{
	"quiet_hours": "pause_window",
}
