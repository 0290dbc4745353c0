package cmd

// Takes the place of `lock release`, which left a run at work that had only lost its lock.
var runsStop = &Command{
	Use:   "runs stop <run>",
	Short: "end a run and give its lock back, also if its process is gone",
}
