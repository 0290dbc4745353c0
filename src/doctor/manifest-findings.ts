import type { Config } from "../app/config/config.ts";
import { appIdOf, ManifestApi, manifestRefusalText } from "../app/slack/manifest/manifest-api.ts";
import {
  type ManifestDifference,
  manifestDifferences,
  mergeManifest,
  reachOf,
} from "../app/slack/manifest/merge-manifest.ts";
import { ownManifest } from "../app/slack/manifest/own-manifest.ts";
import { type Env, envValue } from "../service/config/env.ts";
import { type DoctorFinding, splitAdvice } from "../service/cli/finding.ts";
import { commandOf } from "../shared/machine/this-copy.ts";

/** The variable with an App Configuration Token, for one run. */
export const CONFIG_TOKEN_ENV = "SLACK_CONFIG_TOKEN";
const MAX_TOLD = 8;
const UPDATE_COMMAND = commandOf("setup", "--update-manifest");
const UPDATE = `Run ${UPDATE_COMMAND}, or paste manifest.yml into your app's settings.`;

/**
 * Compares the manifest that Slack has with this version's. Says nothing without an App
 * Configuration Token.
 */
export async function* manifestFindings(
  { slack }: Pick<Config, "slack">,
  { env, appId: given }: { env: Env; appId: string | undefined },
): AsyncGenerator<DoctorFinding> {
  const token = envValue(env, CONFIG_TOKEN_ENV);
  if (token === null) return;
  const { receive, apiUrl } = slack;
  const about = { of: "app", part: "manifest", tried: "compared the one that Slack has with manifest.yml" };
  const appId = given ?? (receive.kind === "socket" ? appIdOf(receive.appToken) : null);
  if (appId === null) {
    const todo = "Add --app-id with the App ID from Basic Information in your Slack app's settings.";
    return yield { ...about, level: "warn", found: "which app it is isn't known", todo };
  }
  const live = await new ManifestApi(apiUrl, token).export(appId);
  if (!live.ok) return yield { ...about, level: "warn", ...splitAdvice(manifestRefusalText(live)) };
  const reach = reachOf(live.manifest);
  if (reach?.kind !== receive.kind) {
    const todo = "Switch Socket Mode in your app's settings, or correct .env.";
    const [has, wants] = receive.kind === "socket" ? ["HTTP", "Socket Mode"] : ["Socket Mode", "HTTP"];
    const found = `the app in Slack uses ${has}, and .env says ${wants}, so nothing arrives`;
    yield { ...about, level: "fault", found, todo };
  }
  const own = await ownManifest(reach ?? { kind: "socket" });
  const differences = manifestDifferences(live.manifest, mergeManifest(live.manifest, own));
  if (differences.length === 0) {
    return yield { ...about, level: "ok", found: "it has all that this version uses", todo: null };
  }
  const told = differences.slice(0, MAX_TOLD).map(inWords).join("; ");
  const more = differences.length > MAX_TOLD ? `; and ${differences.length - MAX_TOLD} more` : "";
  yield { ...about, level: "warn", found: `Slack's lacks something: ${told}${more}`, todo: UPDATE };
}

function inWords({ place, kind, text }: ManifestDifference): string {
  return `${place} ${kind === "added" ? "without" : "differs:"} ${text}`;
}
