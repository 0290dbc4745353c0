package cmd

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// joinCommand registers this machine with a controller.
func joinCommand() *cobra.Command {
	var controller, token string
	var labels []string
	join := &cobra.Command{
		Use:   "join",
		Short: "register this machine with a controller",
		RunE: func(*cobra.Command, []string) error {
			if len(labels) == 0 {
				labels = labelsOfEnvironment()
			}
			for _, label := range labels {
				if !strings.Contains(label, "=") {
					return fmt.Errorf("label %q has no value, use key=value", label)
				}
			}
			return register(controller, token, labels)
		},
	}
	flags := join.Flags()
	flags.StringVar(&controller, "controller", "", "address of the controller")
	flags.StringVar(&token, "token", os.Getenv("DRIFTLINE_TOKEN"), "token from the console")
	// StringArray, not StringSlice: commas belong to the value.
	flags.StringArrayVar(&labels, "label", nil, "a label as key=value, once for each label")
	return join
}

// labelsOfEnvironment reads the variable of the service, whose labels are separated by commas.
func labelsOfEnvironment() []string {
	given := os.Getenv("DRIFTLINE_LABELS")
	if given == "" {
		return nil
	}
	return strings.Split(given, ",")
}
