import type { Page } from "playwright-core";
import { SETUP_KEY, SETUP_TOKEN } from "./setup-place.ts";
import { APP_TOKEN, BOT_TOKEN } from "./world.ts";

/** Presses a button of the setup's page. */
export async function press(tab: Page, name: string): Promise<void> {
  await tab.getByRole("button", { name }).click();
}

/** Waits for a step of the setup's page. */
export async function heading(tab: Page, name: string): Promise<void> {
  await tab.getByRole("heading", { name, level: 2 }).waitFor({ timeout: 60_000 });
}

/** Types into a field of the setup's page. */
export function enter(tab: Page, label: string, value: string): Promise<void> {
  return tab.locator("input").and(tab.getByLabel(label)).fill(value);
}

/** Chooses in a menu of the setup's page. */
export async function choose(tab: Page, label: string, value: string): Promise<void> {
  await tab.locator("select").and(tab.getByLabel(label)).selectOption(value);
}

/** Answers all that the page asks, up to both programs that run. `look` sees each of its steps. */
export async function answerAll(
  tab: Page,
  repository: string,
  look: (step: string) => Promise<void> = async () => {},
): Promise<void> {
  const at = async (step: string) => {
    await heading(tab, step);
    await look(step);
  };
  await at("Slack app");
  await choose(tab, "How Slack reaches the app", "socket");
  await press(tab, "Continue");
  await at("Slack tokens");
  await enter(tab, "Bot User OAuth Token", BOT_TOKEN);
  await enter(tab, "App-level token", APP_TOKEN);
  await press(tab, "Try the tokens");
  await at("Docs repository");
  await enter(tab, "Repository", repository);
  await enter(tab, "GitHub token", SETUP_TOKEN);
  await press(tab, "Look at the repository");
  await at("Agent and model");
  await choose(tab, "Agent", "opencode");
  await enter(tab, "Model key", SETUP_KEY);
  await press(tab, "Try the agent and the model");
  await at("Check and start");
  await press(tab, "Write, check and start");
  await at("Ask for something in Slack");
}
