import { newAppLink, ownManifest } from "../../app/slack/manifest/own-manifest.ts";
import type { SlackSettings } from "../../app/slack/connection/setup.ts";
import { trySlack } from "../../app/slack/connection/try-slack.ts";
import { asDoctorFinding } from "../../service/cli/finding.ts";
import { envValue } from "../../service/config/env.ts";
import type { Session } from "../session.ts";
import {
  entryFault,
  passOn,
  type SetupStep,
  type StepField,
  type StepValues,
  type StepWords,
} from "./step.ts";

/** The app's tokens, each tried at once. */
export const tokensStep: SetupStep = {
  id: "tokens",
  title: "Slack tokens",
  button: "Try the tokens",
  isDone: ({ state }) => state.slack !== undefined,
  words: wordsFor,
  fields: (session) => {
    const { reach } = session.state;
    const bot = field(
      "SLACK_BOT_TOKEN",
      "Bot User OAuth Token",
      "OAuth & Permissions. It begins with xoxb-.",
    );
    if (reach?.kind === "http") {
      return [bot, field("SLACK_SIGNING_SECRET", "Signing Secret", "Basic Information.")].map((each) =>
        kept(each, session),
      );
    }
    const where =
      "Basic Information → App-Level Tokens, with the scope connections:write. It begins with xapp-.";
    return [bot, field("SLACK_APP_TOKEN", "App-level token", where)].map((each) => kept(each, session));
  },
  async *take(values, session) {
    const slack = slackIn(values, session);
    const missing = Object.entries(variablesOf(slack)).find(([, value]) => value === "");
    if (missing !== undefined) {
      return yield entryFault(missing[0], "It is missing.", "Copy it from your app's settings in Slack.");
    }
    const findings = await trySlack(slack, { wantedScopes: {}, isRunning: false });
    const told = findings.map((each) => asDoctorFinding("app", "asked Slack with these tokens", each));
    if (!(yield* passOn(told))) return;
    // The other way of reaching the app would win over the chosen one.
    const other = slack.receive.kind === "http" ? { SLACK_APP_TOKEN: undefined } : {};
    session.keepVariables({ ...variablesOf(slack), ...other });
    session.keep({ slack: { bot: told[0]?.found ?? "" } });
  },
};

async function wordsFor({ state: { reach = { kind: "socket" }, appId } }: Session): Promise<StepWords[]> {
  if (appId !== undefined) {
    const url = `https://api.slack.com/apps/${appId}`;
    const text =
      "The app is there. Press Install to Workspace in its settings, and copy two secrets from them.";
    return [{ text, link: { label: "The app's settings", url } }];
  }
  const manifest = await ownManifest(reach);
  return [
    {
      text: "This link creates the app from our manifest. Choose your workspace there, and press Create.",
      link: { label: "Create the Slack app", url: newAppLink(manifest) },
    },
    {
      text:
        "If the page is empty, choose From a manifest and JSON there, and paste the manifest." +
        (reach.kind === "socket" ? "" : " Slack checks the host's address once the app runs."),
      paste: { label: "The manifest, to paste", text: JSON.stringify(manifest, null, 2) },
    },
    { text: "Then press Install to Workspace, and copy two secrets from the app's settings." },
  ];
}

function field(name: string, label: string, hint: string): StepField {
  return { name, label, hint, kind: "secret" };
}

/** A secret that is kept needn't be entered again. */
function kept(each: StepField, session: Session): StepField {
  if (envValue(session.env(), each.name) === null) return each;
  return { ...each, isOptional: true, hint: `${each.hint} One is kept. Leave this empty to use it.` };
}

function slackIn(values: StepValues, session: Session): SlackSettings {
  const env = session.env();
  const given = (name: string) => values[name] || envValue(env, name) || "";
  return {
    apiUrl: session.slackApiUrl,
    botToken: given("SLACK_BOT_TOKEN"),
    receive:
      session.state.reach?.kind === "http"
        ? { kind: "http", signingSecret: given("SLACK_SIGNING_SECRET") }
        : { kind: "socket", appToken: given("SLACK_APP_TOKEN") },
  };
}

function variablesOf({ botToken, receive }: SlackSettings): Record<string, string> {
  const other =
    receive.kind === "http"
      ? { SLACK_SIGNING_SECRET: receive.signingSecret }
      : { SLACK_APP_TOKEN: receive.appToken };
  return { SLACK_BOT_TOKEN: botToken, ...other };
}
