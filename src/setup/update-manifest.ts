import { appIdOf, ManifestApi, manifestRefusalText } from "../app/slack/manifest/manifest-api.ts";
import {
  type ManifestDifference,
  manifestDifferences,
  mergeManifest,
  needsReinstall,
  reachOf,
} from "../app/slack/manifest/merge-manifest.ts";
import { ownManifest } from "../app/slack/manifest/own-manifest.ts";
import { CONFIG_TOKEN_ENV } from "../doctor/manifest-findings.ts";
import { lineText } from "../service/commands/show.ts";
import { envValue } from "../service/config/env.ts";
import { StartError } from "../shared/errors.ts";
import type { TerminalPrompt } from "./terminal-prompt.ts";
import type { Session } from "./session.ts";

type Updating = {
  appId: string | undefined;
  /** True if nobody is asked before the update. */
  isSure: boolean;
  prompt: TerminalPrompt;
  write: (text: string) => void;
};

const SIGNS = { added: "+", removed: "-", changed: "~" } as const satisfies Record<
  ManifestDifference["kind"],
  string
>;

/**
 * Brings this version's manifest into the app's live one, after showing the difference. Rejects
 * with a {@link StartError} that says why it can't.
 */
export async function updateManifest(session: Session, updating: Updating): Promise<void> {
  const { prompt, write, isSure } = updating;
  const env = session.env();
  const appId = updating.appId ?? session.state.appId ?? appIdOf(envValue(env, "SLACK_APP_TOKEN") ?? "");
  if (appId === null) {
    throw new StartError(
      "Which app is it? Add --app-id with the App ID from Basic Information in its settings.",
    );
  }
  const token =
    envValue(env, CONFIG_TOKEN_ENV) ??
    (await prompt.ask("App Configuration Token, from https://api.slack.com/apps", { isHidden: true }));
  const api = new ManifestApi(session.slackApiUrl, token);
  const live = await api.export(appId);
  if (!live.ok) throw new StartError(manifestRefusalText(live));
  const reach = reachOf(live.manifest) ?? session.state.reach ?? { kind: "socket" };
  const merged = mergeManifest(live.manifest, await ownManifest(reach));
  const differences = manifestDifferences(live.manifest, merged);
  if (differences.length === 0)
    return write("The app has all that this version uses. Nothing was changed.\n");
  for (const { place, kind, text } of differences) write(lineText(`${SIGNS[kind]} ${place}: ${text}`) + "\n");
  const valid = await api.validate(merged);
  if (!valid.ok) throw new StartError(manifestRefusalText(valid));
  if (!isSure && !/^y(?:es)?$/i.test(await prompt.ask("Change the app like this? (y/N)"))) {
    return write("Nothing was changed.\n");
  }
  const updated = await api.update(appId, merged);
  if (!updated.ok) throw new StartError(manifestRefusalText(updated));
  const isDue = updated.arePermissionsNew || needsReinstall(differences);
  write(
    isDue
      ? "The app is updated. Its scopes changed: press Install App → Reinstall in its settings.\n"
      : "The app is updated. It needn't be installed again.\n",
  );
}
