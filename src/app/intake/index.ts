import type { App } from "@slack/bolt";
import { registerAppHome } from "./app-home.ts";
import { registerAnswers } from "./answers.ts";
import { registerFollowIt } from "./asked-before.ts";
import { registerNativeStop } from "./native-stop.ts";
import { registerNewsButtons } from "./news-buttons.ts";
import { registerOutcomeButtons } from "./outcome-buttons.ts";
import { registerCommand } from "./command.ts";
import type { IntakeDeps } from "./deps.ts";
import { registerMessages } from "./door.ts";
import { registerGuestCheck } from "./guest-check.ts";
import { registerStatusButtons } from "./status-buttons.ts";
import { registerAddToIt, registerFormSubmission } from "./form-submission.ts";
import { registerLists } from "./lists.ts";
import { registerProjectButtons } from "./project-buttons.ts";
import { registerShortcut } from "./shortcut.ts";

/** Registers every way in from Slack, behind the guest check. */
export function registerIntake(app: App, given: Omit<IntakeDeps, "accepting" | "reassured">): void {
  const deps: IntakeDeps = { ...given, accepting: new Map(), reassured: new Set() };
  registerGuestCheck(app, deps);
  registerCommand(app, deps);
  registerShortcut(app, deps);
  registerFormSubmission(app, deps);
  registerAddToIt(app, deps);
  registerMessages(app, deps);
  registerOutcomeButtons(app, deps);
  registerNewsButtons(app, deps);
  registerAnswers(app, deps);
  registerStatusButtons(app, deps);
  registerFollowIt(app, deps);
  registerLists(app, deps);
  registerProjectButtons(app, deps);
  registerAppHome(app, deps);
  registerNativeStop(app, deps);
}
