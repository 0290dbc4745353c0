import { LogLevel, WebClient } from "@slack/web-api";
import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { AccessSettings } from "../../rules/access.ts";
import type { FollowUps } from "../../rules/thread/people.ts";

/** How the app reaches Slack, and Slack the app. */
export type SlackSettings = {
  botToken: string;
  /** The root of the Web API. */
  apiUrl: string;
  /** How Slack's requests arrive. */
  receive: { kind: "http"; signingSecret: string } | { kind: "socket"; appToken: string };
};

/** The time for one call of a check. */
export const TRY_TIMEOUT_MS = 10_000;

/** A client whose calls are made once. Whoever tries something reports what matters, once. */
export function oneTryClient({ apiUrl }: Pick<SlackSettings, "apiUrl">, token: string): WebClient {
  return new WebClient(token, {
    slackApiUrl: apiUrl,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout: TRY_TIMEOUT_MS,
    logLevel: LogLevel.ERROR,
  });
}

const MANIFEST = new URL("../../../../manifest.yml", import.meta.url);
const Scopes = z.object({ bot: z.array(z.string()), bot_optional: z.array(z.string()) });
const Manifest = z.object({ oauth_config: z.object({ scopes: Scopes }) });

/**
 * The scopes that may be left out when the app is installed, and what is missing without each. With
 * {@link GROUP_MESSAGE_SCOPES}, they match manifest.yml.
 */
export const OPTIONAL_SCOPES: Readonly<Record<string, string>> = {
  "channels:history": "threads in public channels can't go along; after a crash, a post there may be doubled",
  "groups:history": "threads in private channels can't go along; after a crash, a post there may be doubled",
  "im:history":
    "what people write to the app in direct messages isn't heard; after a crash, one of its own " +
    "may be doubled",
  "channels:read": "public channels have no names in prompts, and are left out of lists",
  "groups:read": "private channels have no names in prompts, and are left out of lists",
  "usergroups:read": "user groups have no names in prompts, and ALLOW_GROUPS lets nobody in",
  "files:read": "images and files stay in Slack",
  "files:write": "raw changes aren't sent as files",
  "reactions:write": "no reactions under the messages that ask",
};

/**
 * More optional scopes, which only group direct messages need. Apps that were installed before
 * there was any use for them say nothing of it.
 */
export const GROUP_MESSAGE_SCOPES: readonly string[] = ["mpim:history", "mpim:read"];

/** The optional scopes that settings need, by the settings' names. */
export type WantedScopes = Readonly<Record<string, readonly string[]>>;

/**
 * The optional scopes that settings need: FOLLOW_UPS to read replies that don't mention the app,
 * ALLOW_CHANNELS to know which of the channels somebody who writes to the app is in, and
 * ALLOW_GROUPS to know who is in a group.
 */
export function wantedScopes({
  followUps,
  access: { channels, groups },
}: {
  followUps: FollowUps;
  access: Pick<AccessSettings, "channels" | "groups">;
}): WantedScopes {
  return {
    ...(followUps !== "mention" && { FOLLOW_UPS: ["channels:history", "groups:history"] }),
    ...(channels.length > 0 && { ALLOW_CHANNELS: ["channels:read", "groups:read"] }),
    ...(groups.length > 0 && { ALLOW_GROUPS: ["usergroups:read"] }),
  };
}

/** What an installed app lacks. */
export type Lacking = {
  /** What keeps people from using the app, with what to do. Null if nothing does. */
  fault: string | null;
  /** The scopes that settings need, by the settings' names. */
  wanted: Record<string, string[]>;
  /** What is missing without the optional scopes that the app wasn't granted. */
  optional: Record<string, string>;
};

/** Compares the scopes that Slack says the app was granted with those of manifest.yml. */
export async function lackingScopes(granted: readonly string[], wanted: WantedScopes): Promise<Lacking> {
  const isMissing = (scope: string) => !granted.includes(scope);
  const { bot, bot_optional: optional } = await manifestScopes();
  const missing = bot.filter((scope) => !optional.includes(scope)).filter(isMissing);
  const fault =
    missing.length === 0
      ? null
      : `The app lacks the ${missing.length === 1 ? "scope" : "scopes"} ${missing.join(", ")}. Add what ` +
        "is missing under OAuth & Permissions in your Slack app's settings, and reinstall the app.";
  return {
    fault,
    wanted: Object.fromEntries(
      Object.entries(wanted)
        .map(([setting, scopes]): [string, string[]] => [setting, scopes.filter(isMissing)])
        .filter(([, missed]) => missed.length > 0),
    ),
    optional: Object.fromEntries(Object.entries(OPTIONAL_SCOPES).filter(([scope]) => isMissing(scope))),
  };
}

/** The scopes in manifest.yml. `bot` has the optional ones, too. */
async function manifestScopes(): Promise<z.infer<typeof Scopes>> {
  const { parse } = await import("yaml");
  return Manifest.parse(parse(await readFile(MANIFEST, "utf8"))).oauth_config.scopes;
}

/** https://docs.slack.dev/authentication/verifying-requests-from-slack */
const SIGNING_SECRET = /^[0-9a-f]{32}$/;

/**
 * True if Slack itself answers at this root, or GovSlack. Secrets of anything that stands in for it
 * may have another form.
 */
export function isSlackItself({ apiUrl }: Pick<SlackSettings, "apiUrl">): boolean {
  return /^https:\/\/slack(-gov)?\.com\//.test(apiUrl);
}

/** What is wrong with the form of the signing secret, with what to do, or null. */
export function signingSecretFault({ receive }: SlackSettings): string | null {
  if (receive.kind === "socket" || SIGNING_SECRET.test(receive.signingSecret)) return null;
  return (
    "SLACK_SIGNING_SECRET isn't a signing secret, which has 32 characters from 0-9 and a-f, so every " +
    "request from Slack would be refused. Copy it from Basic Information in your Slack app's settings."
  );
}
