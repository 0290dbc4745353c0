// Package preflight looks at the machine before the first start and before each upgrade.
package preflight

import "fmt"

const gigabyte = 1 << 30

// What a machine needs. Raised with 6.2, because search moved into the database.
const (
	minPostgres = 15
	minMemory   = 4 * gigabyte
	minCores    = 2
	minDisk     = 10 * gigabyte
)

// Machine is what was found.
type Machine struct {
	Postgres     int
	Memory, Disk int64
	Cores        int
}

// Check names everything that isn't enough.
func Check(found Machine) []string {
	var faults []string
	if found.Postgres < minPostgres {
		faults = append(faults, fmt.Sprintf("PostgreSQL %d is too old, %d or newer is needed", found.Postgres, minPostgres))
	}
	if found.Memory < minMemory {
		faults = append(faults, fmt.Sprintf("%.1f GB of memory, %d GB are needed", float64(found.Memory)/gigabyte, minMemory/gigabyte))
	}
	if found.Cores < minCores {
		faults = append(faults, fmt.Sprintf("%d cores, %d are needed", found.Cores, minCores))
	}
	if found.Disk < minDisk {
		faults = append(faults, fmt.Sprintf("%.1f GB of disk, %d GB are needed", float64(found.Disk)/gigabyte, minDisk/gigabyte))
	}
	return faults
}
