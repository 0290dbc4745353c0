package errors

// NewLocked tells of a run that holds the lock. The last argument is for the advice.
func NewLocked(database string, run Run) error {
	return Locked.With(database, run.ID, run.Host, run.Age(), run.ID)
}
