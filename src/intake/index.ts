import type { App } from "@slack/bolt";
import { registerButtons } from "./buttons.ts";
import { registerCommand } from "./command.ts";
import type { IntakeDeps } from "./deps.ts";
import { registerFormSubmission } from "./form-submission.ts";
import { registerMention } from "./mention.ts";
import { registerShortcut } from "./shortcut.ts";

/** Registers every way in from Slack. */
export function registerIntake(app: App, deps: IntakeDeps): void {
  registerCommand(app, deps);
  registerShortcut(app, deps);
  registerFormSubmission(app, deps);
  registerMention(app, deps);
  registerButtons(app, deps);
}
