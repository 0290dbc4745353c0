import { findingText } from "../service/cli/finding.ts";
import { lineText } from "../service/commands/show.ts";
import type { TerminalPrompt } from "./terminal-prompt.ts";
import type { SetupRun } from "./setup-run.ts";
import type { SetupStep, StepField } from "./steps/step.ts";

/** Typed in place of a token. */
const MAKE_APP = "app";

type Talk = { prompt: TerminalPrompt; write: (text: string) => void };

/** Goes through the steps in a terminal, from the first that isn't done. */
export async function setUpInTerminal(run: SetupRun, talk: Talk): Promise<void> {
  for (let step = run.next(); step !== null; step = run.next()) await takeStep(step, run, talk);
  talk.write(
    "\nBoth programs run. In Slack, type /invite @docs-agent, and then:\n\n" +
      "  /docs-agent fix the typos in the README\n\n" +
      'They run as long as this command does. For longer, see "systemd" in docs/operate.md.\n',
  );
}

async function takeStep(step: SetupStep, run: SetupRun, { prompt, write }: Talk): Promise<void> {
  write(`\n${step.title}\n\n`);
  for (const { text, link, paste } of await step.words(run.session)) {
    write(`${text}\n${link === undefined ? "" : `  ${link.label}: ${link.url}\n`}`);
    if (paste !== undefined) write(`${paste.text}\n`);
  }
  const values: Record<string, string> = {};
  const fields = run.fields(step);
  for (const field of fields) values[field.name] = await answerTo(field, { prompt, write });
  if (fields.length === 0) await prompt.ask(`${step.button} (Enter)`);
  if (step.id === "repository" && values["token"] === MAKE_APP) {
    values["token"] = "";
    await run.makeApp(await prompt.ask("Organization (empty for your own account)"), write);
  }
  const printed = (text: string) => write(text);
  await run.take(step, values, (finding) => printed(findingText(finding)));
}

async function answerTo(field: StepField, { prompt, write }: Talk): Promise<string> {
  const { label, hint, kind, choices = [], initial = "", isOptional = false } = field;
  if (hint !== undefined) write(`${hint}\n`);
  if (field.name === "token") write(`Type ${MAKE_APP} to make a GitHub App instead.\n`);
  for (;;) {
    const values = choices.map(({ value }) => value).filter((value) => value !== "");
    const among = kind === "choice" ? ` (${values.join(", ")})` : "";
    const fallback = initial === "" ? "" : ` [${lineText(initial)}]`;
    const answer =
      (await prompt.ask(`${label}${among}${fallback}`, { isHidden: kind === "secret" })) || initial;
    const isKnown = kind !== "choice" || choices.some(({ value }) => value === answer);
    if (isKnown && (answer !== "" || isOptional || kind === "choice")) return answer;
    write(kind === "choice" ? "Choose one of these.\n" : "This is needed.\n");
  }
}
