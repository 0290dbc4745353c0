package errors

// Each error has a code, a text, and advice on a line of its own, indented by two spaces.
var (
	Unreachable   = define("PK-101", "cannot reach %s:%d: %s", "")
	MayNotCreate  = define("PK-104", "role %s may not create tables in schema %s", "")
	Changed       = define("PK-201", "migration %s was changed after it was applied on %s", "")
	NoFile        = define("PK-203", "migration %s was applied, but has no file in %s", "")
	Locked        = define("PK-211", "database %s is locked by run %s on %s, started %s ago",
		"Wait for it, or end it with: pikestone runs stop %s")
	ShadowLocked  = define("PK-212", "cannot acquire lock on shadow database %s", "")
	TooSlow       = define("PK-220", "statement %d of %s took longer than %s", "")
	Unconfigured  = define("PK-301", "%s isn't a configuration: %s", "")
)
