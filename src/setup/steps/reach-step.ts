import { ManifestApi, manifestRefusalText } from "../../app/slack/manifest/manifest-api.ts";
import { ownManifest, type Reach } from "../../app/slack/manifest/own-manifest.ts";
import { type DoctorFinding, splitAdvice } from "../../service/cli/finding.ts";
import type { Session } from "../session.ts";
import { entryFault, type SetupStep, type StepValues } from "./step.ts";

const HOST = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?$/i;

/** How Slack reaches the app, and the app's creation where a token for that is given. */
export const reachStep: SetupStep = {
  id: "slack",
  title: "Slack app",
  button: "Continue",
  isDone: ({ state }) => state.reach !== undefined,
  words: async () => [
    {
      text:
        "Docs Agent is an app of your own in Slack. In Socket Mode it needs no public address. Over " +
        "HTTP, Slack sends everything to a host of yours.",
    },
    {
      text:
        "The next page has a link that creates the app. If you have an App Configuration Token, the " +
        "app is created with it now. The token isn't kept.",
      link: { label: "Your App Configuration Tokens", url: "https://api.slack.com/apps" },
    },
  ],
  fields: ({ state: { reach } }) => [
    {
      name: "reach",
      label: "How Slack reaches the app",
      kind: "choice",
      choices: [
        { value: "socket", label: "Socket Mode (no public address)" },
        { value: "http", label: "HTTP" },
      ],
      initial: reach?.kind ?? "socket",
    },
    {
      name: "host",
      label: "Public host, for HTTP",
      hint: "For example docs-agent.example.com. It leads to this app's port, 3000.",
      kind: "text",
      initial: reach?.kind === "http" ? reach.host : "",
      isOptional: true,
    },
    { name: "configToken", label: "App Configuration Token", kind: "secret", isOptional: true },
  ],
  async *take(values, session) {
    const reach = reachIn(values);
    if (reach === null) {
      const todo = "Enter the host's name alone, without https:// and a path.";
      return yield entryFault("Public host", "Slack needs a host for HTTP.", todo);
    }
    const token = values["configToken"] ?? "";
    if (token === "") return session.keep({ reach, slack: undefined });
    yield* created(reach, token, session);
  },
};

function reachIn(values: StepValues): Reach | null {
  if (values["reach"] !== "http") return { kind: "socket" };
  const host = values["host"] ?? "";
  return HOST.test(host) ? { kind: "http", host } : null;
}

async function* created(reach: Reach, token: string, session: Session): AsyncGenerator<DoctorFinding> {
  const about = {
    of: "app",
    part: "Slack app",
    tried: "had Slack validate the manifest, and create the app",
  };
  const api = new ManifestApi(session.slackApiUrl, token);
  const manifest = await ownManifest(reach);
  const valid = await api.validate(manifest);
  const made = valid.ok ? await api.create(manifest) : valid;
  if (!made.ok) return yield { ...about, level: "fault", ...splitAdvice(manifestRefusalText(made)) };
  if (reach.kind === "http") session.keepVariables({ SLACK_SIGNING_SECRET: made.signingSecret });
  session.keep({ reach, slack: undefined, appId: made.appId });
  yield { ...about, level: "ok", found: `${made.appId} is created`, todo: null };
}
