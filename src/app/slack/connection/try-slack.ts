import { isJsonFields } from "../../../shared/text/json-fields.ts";
import { networkTrouble } from "../../../shared/machine/network-trouble.ts";
import { jsonOf } from "../../../shared/text/text.ts";
import type { StartFinding } from "../../../shared/machine/ports.ts";
import { slackTrouble } from "./identity.ts";
import {
  lackingScopes,
  oneTryClient,
  TRY_TIMEOUT_MS,
  signingSecretFault,
  type SlackSettings,
  type WantedScopes,
} from "./setup.ts";

const NAME = "Slack";

const REFUSED_OTHERWISE = "Copy it again from your app's settings.";
/** What to do where Slack refuses a token, by its error code. */
const REFUSED: Readonly<Record<string, string>> = {
  account_inactive: "The app was removed from the workspace: install it again, and copy the new token.",
  token_revoked: "The token was revoked: install the app again, and copy the new token.",
  token_expired:
    "The token has expired: turn token rotation off in your app's settings, install it again, and copy the " +
    "new token.",
  missing_scope: "Generate an app-level token with the scope connections:write, and set it to that.",
  not_allowed_token_type:
    "Generate an app-level token (xapp-…) under Basic Information in your app's settings, and turn Socket " +
    "Mode on there.",
};

/** What to do where Slack doesn't answer. */
function unreachedAdvice(error: string): string {
  if (/^http_[34]|^unreadable_answer$/.test(error)) {
    return "What answers isn't Slack's Web API. Check SLACK_API_URL, which ends with /api/, and HTTPS_PROXY.";
  }
  const { todo = "" } = networkTrouble(error) ?? {};
  return `Check HTTPS_PROXY and SLACK_API_URL if you set them, and the network. ${todo}`.trim();
}

type Trying = {
  /** The scopes that settings need. */
  wantedScopes: WantedScopes;
  /**
   * True if Docs Agent is running now, or may be. Then Socket Mode isn't tried, because Slack would
   * send some requests over the connection that tries it.
   */
  isRunning: boolean;
};

/** Tries everything that the app needs of Slack. Says for each part what was found. */
export async function trySlack(
  slack: SlackSettings,
  { wantedScopes, isRunning }: Trying,
): Promise<StartFinding[]> {
  const { botToken, receive } = slack;
  const secretFault = signingSecretFault(slack);
  const ofSecret = secretFault === null ? [] : [{ level: "FAULT" as const, name: NAME, found: secretFault }];
  let secret = "SLACK_BOT_TOKEN";
  try {
    const answer = await oneTryClient(slack, botToken).auth.test();
    const found = `the app is ${answer.user} in ${answer.team}`;
    const ofScopes = await findScopes(answer.response_metadata?.scopes, wantedScopes);
    const known: StartFinding[] = [{ level: "ok", name: NAME, found }, ...ofScopes, ...ofSecret];
    if (receive.kind === "http") return known;
    if (isRunning) {
      return [
        ...known,
        { level: "ok", name: "Socket Mode", found: "not tried while Docs Agent uses the store" },
      ];
    }
    secret = "SLACK_APP_TOKEN";
    const { url = "" } = await oneTryClient(slack, receive.appToken).apps.connections.open({});
    return [...known, await trySocket(url)];
  } catch (thrown) {
    const { error, isTokenRefused } = slackTrouble(thrown);
    const found = isTokenRefused
      ? `Slack refuses ${secret} (${error}). ${REFUSED[error] ?? REFUSED_OTHERWISE}`
      : `Slack can't be reached (${error}). ${unreachedAdvice(error)}`;
    return [{ level: "FAULT", name: NAME, found }, ...ofSecret];
  }
}

async function findScopes(
  granted: readonly string[] | undefined,
  wantedScopes: WantedScopes,
): Promise<StartFinding[]> {
  const name = "Scopes";
  if (granted === undefined) {
    return [{ level: "warn", name, found: "couldn't be tested, because Slack doesn't list them" }];
  }
  const { fault, wanted, optional } = await lackingScopes(granted, wantedScopes);
  const without = Object.entries(optional).map(([scope, what]) => `${scope} (${what})`);
  const findings: StartFinding[] = [];
  if (fault !== null) findings.push({ level: "FAULT", name, found: fault });
  for (const [setting, scopes] of Object.entries(wanted)) {
    const found = `${setting} needs ${scopes.join(", ")}, too. Add them, and reinstall the app.`;
    findings.push({ level: "warn", name, found });
  }
  if (without.length > 0) {
    findings.push({ level: "warn", name, found: `the app lacks optional ones: ${without.join("; ")}` });
  }
  return findings.length > 0 ? findings : [{ level: "ok", name, found: "the app has all of them" }];
}

/** Opens a Socket Mode connection, and closes it as soon as Slack has said hello. */
async function trySocket(url: string): Promise<StartFinding> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const timer = setTimeout(resolve, TRY_TIMEOUT_MS, `no hello within ${TRY_TIMEOUT_MS / 1000} s`);
  const socket = new WebSocket(url);
  socket.addEventListener("message", ({ data }: { data: unknown }) => {
    const frame = typeof data === "string" ? jsonOf(data) : undefined;
    if (isJsonFields(frame) && frame["type"] === "hello") resolve(null);
  });
  socket.addEventListener("error", () => resolve("the connection failed"));
  socket.addEventListener("close", ({ code }) => resolve(`the connection was closed with code ${code}`));
  const problem = await promise;
  clearTimeout(timer);
  socket.close();
  const name = "Socket Mode";
  if (problem === null) return { level: "ok", name, found: "Slack opens a connection" };
  const found =
    `Slack doesn't open a connection (${problem}). Let this machine, and its proxy if there is one, open ` +
    `WebSockets to ${URL.parse(url)?.hostname ?? "Slack"}.`;
  return { level: "FAULT", name, found };
}
