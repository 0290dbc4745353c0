package cmd

func init() {
	f := scheduleSet.Flags()
	f.String("every", "", "minutes, hours or days, as in 30m, 6h or 1d")
	f.String("at", "", "a time of day, in place of an interval")
	f.String("pause-window", "", "no run starts in this span of the day")
	f.String("timezone", "", "the zone of the times")
}
