import type { AccessSettings } from "../../rules/access.ts";
import type { StartFinding } from "../../../shared/machine/ports.ts";
import { slackFault } from "../slack-faults.ts";
import { oneTryClient, type SlackSettings } from "./setup.ts";

const NAME = "Access";

/** What to do about the refusals that are likeliest. */
const ADVICE: Readonly<Record<string, string>> = {
  channel_not_found: "Check the id, and invite the app if the channel is private.",
  no_such_subteam: "Check the id.",
  plan_upgrade_required: "The workspace's plan has no user groups. Leave the setting out.",
  missing_scope: "Add the scope in your Slack app's settings, and reinstall the app.",
};

/**
 * Looks up the channels and user groups that the operator's settings name. Says which of them
 * Slack doesn't give, and fails if that leaves nobody.
 */
export async function tryAccess(
  slack: Pick<SlackSettings, "apiUrl" | "botToken">,
  { channels, groups, askOnly }: AccessSettings,
): Promise<StartFinding[]> {
  const asked = askOnly === "all" ? [] : askOnly;
  if ([...channels, ...groups, ...asked].length === 0) return [];
  const client = oneTryClient(slack, slack.botToken);
  const [ofChannels, ofAsked, ofGroups] = await Promise.all([
    troubles(channels, (channel) => client.conversations.info({ channel })),
    troubles(asked, (channel) => client.conversations.info({ channel })),
    troubles(groups, (id) => client.usergroups.users.list({ usergroup: id })),
  ]);
  const findings = [
    ...ofChannels.map(({ id, trouble }) => warning("ALLOW_CHANNELS", id, trouble)),
    ...ofAsked.map(({ id, trouble }) => warning("ASK_ONLY", id, trouble)),
    ...ofGroups.map(({ id, trouble }) => warning("ALLOW_GROUPS", id, trouble)),
  ];
  if (groups.length > 0 && ofGroups.length === groups.length) {
    const found = "Nobody can use the app, because Slack gives none of the groups in ALLOW_GROUPS.";
    return [...findings, { level: "FAULT", name: NAME, found }];
  }
  return findings.length > 0
    ? findings
    : [{ level: "ok", name: NAME, found: "Slack knows every channel and group that the settings name" }];
}

async function troubles(
  ids: readonly string[],
  look: (id: string) => Promise<unknown>,
): Promise<{ id: string; trouble: string }[]> {
  const looked = await Promise.all(
    ids.map(async (id) => {
      try {
        await look(id);
        return [];
      } catch (thrown) {
        return [{ id, trouble: slackFault(thrown).error }];
      }
    }),
  );
  return looked.flat();
}

function warning(setting: string, id: string, trouble: string): StartFinding {
  const advice = ADVICE[trouble] ?? "See the code on Slack's page of the method.";
  return {
    level: "warn",
    name: NAME,
    found: `Slack doesn't give ${id} of ${setting} (${trouble}). ${advice}`,
  };
}
