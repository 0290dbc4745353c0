package webhooks

import "time"

// Timeout of a call. Raised from 10 s with the new queue.
const Timeout = 30 * time.Second

var delays = []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 8 * time.Hour}
