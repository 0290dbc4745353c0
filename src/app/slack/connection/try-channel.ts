import type { StartFinding } from "../../../shared/machine/ports.ts";
import { slackFault } from "../slack-faults.ts";
import { oneTryClient, type SlackSettings } from "./setup.ts";

const NAME = "Channel";
const WORDS = "Docs Agent's doctor tries whether it can post here. It removes this message.";
const EMOJI = "eyes";

/** What to do about the refusals that are likeliest. */
const ADVICE: Readonly<Record<string, string>> = {
  not_in_channel: "Type /invite @docs-agent in the channel.",
  channel_not_found: "Check the channel's id, and invite the app if the channel is private.",
  is_archived: "Name another channel.",
  missing_scope: "Add the scope in your Slack app's settings, and reinstall the app.",
};

/**
 * Posts a message in a channel, changes it, reacts to it, and deletes it. Says of each how it went,
 * and goes on as far as it can, so that nothing stays.
 */
export async function* tryChannel(
  { apiUrl, botToken }: Pick<SlackSettings, "apiUrl" | "botToken">,
  channel: string,
): AsyncGenerator<StartFinding> {
  const client = oneTryClient({ apiUrl }, botToken);
  const posted = await client.chat
    .postMessage({ channel, text: WORDS, parse: "none" })
    .catch((thrown: unknown) => ({ thrown, ts: undefined }));
  if (posted.ts === undefined) {
    return yield failed("post", "thrown" in posted ? posted.thrown : null);
  }
  const { ts } = posted;
  const item = { channel, timestamp: ts, name: EMOJI };
  const steps: readonly (readonly [what: string, act: () => Promise<unknown>])[] = [
    ["edit", () => client.chat.update({ channel, ts, text: `${WORDS} Changed.`, parse: "none" })],
    ["react", () => client.reactions.add(item)],
    ["take the reaction back", () => client.reactions.remove(item)],
    ["delete", () => client.chat.delete({ channel, ts })],
  ];
  yield { level: "ok", name: NAME, found: "it can post" };
  for (const [what, act] of steps) {
    const finding: StartFinding = await act().then(
      () => ({ level: "ok", name: NAME, found: `it can ${what}` }),
      (thrown: unknown) => failed(what, thrown),
    );
    yield finding;
  }
}

function failed(what: string, thrown: unknown): StartFinding {
  const { error } = slackFault(thrown);
  const advice = ADVICE[error] ?? "See the code on Slack's page of the method.";
  return { level: "FAULT", name: NAME, found: `The app can't ${what} (${error}). ${advice}` };
}
