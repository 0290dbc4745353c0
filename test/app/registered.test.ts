import { readFileSync, readdirSync } from "node:fs";
import { HTTPReceiver } from "@slack/bolt";
import { WebClient } from "@slack/web-api";
import { describe, expect, it } from "vitest";
import { BoltApp } from "../../src/app/slack/connection/bolt-app.ts";
import { newTeam } from "../../src/app/slack/slack-team.ts";
import { registerIntake } from "../../src/app/intake/index.ts";
import { GROUP_MESSAGE_SCOPES, OPTIONAL_SCOPES } from "../../src/app/slack/connection/setup.ts";
import { readManifest } from "../support/manifest.ts";
import { ManualClock } from "../../world/clock/manual-clock.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { SIGNING_SECRET, BOT_TOKEN } from "../support/world.ts";

type Registered = { command: string[]; shortcut: string[]; event: string[] };

/** What the real registration registers with a real Bolt app. */
function registered(): Registered {
  const seen: Registered = { command: [], shortcut: [], event: [] };
  const app = new BoltApp({
    receiver: new HTTPReceiver({ signingSecret: SIGNING_SECRET }),
    team: newTeam(new WebClient(BOT_TOKEN)),
    clientOptions: {},
    logger: new RecordingLogger(),
    sample: () => {},
  });
  const recording = new Proxy(app, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (property !== "command" && property !== "shortcut" && property !== "event") return value;
      return (name: string | { callback_id: string }, ...listeners: unknown[]) => {
        seen[property].push(typeof name === "string" ? name : name.callback_id);
        return Reflect.apply(value as (...args: unknown[]) => unknown, target, [name, ...listeners]);
      };
    },
  });
  const never = () => Promise.reject(new Error("not used"));
  registerIntake(recording, {
    queue: { add: never, commit: never, read: never },
    records: { get: never },
    series: { of: never, remove: never },
    measure: () => {},
    firstTries: { isRefused: never },
    notifier: { replyPrivately: never, publishHome: never },
    threadReader: { read: never },
    messageReader: { read: never },
    fileReader: { lookUp: never },
    memberships: { channelsOf: never },
    directory: {
      admission: never,
      groupMembers: never,
      personName: never,
      channelName: never,
      groupName: never,
    },
    projects: [{ service: "https://agents.example", id: "docs", name: "docs" }],
    projectOfChannel: new Map(),
    limits: { perPerson: 0, perChannel: 0 },
    access: { channels: [], groups: [], askOnly: [] },
    followUps: "mention",
    httpOrigins: [],
    isStoreUnsafe: () => false,
    contact: "an admin",
    polling: { minMs: 5000, maxMs: 60_000, deadlineMs: 86_400_000 },
    retentionMs: 86_400_000,
    clock: new ManualClock(),
    logger: new RecordingLogger(),
  });
  return seen;
}

function sourceFiles(folder: string): string[] {
  return readdirSync(new URL(`../../src/app/${folder}/`, import.meta.url), {
    recursive: true,
    encoding: "utf8",
  })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(new URL(`../../src/app/${folder}/${name}`, import.meta.url), "utf8"));
}

const READS_THREADS = ["conversations.history", "conversations.replies"];
const READS_CHANNELS = ["conversations.info", "users.conversations"];

/** What each scope is for: Web API methods, events and features that need it, from Slack's pages of them. */
const USES: Record<string, { methods?: string[]; events?: string[]; other?: string[] }> = {
  "app_mentions:read": { events: ["app_mention"] },
  "chat:write": {
    events: ["agent_session_stopped"],
    methods: [
      "agents.sessions.setStatus",
      "assistant.threads.setStatus",
      "chat.delete",
      "chat.postEphemeral",
      "chat.postMessage",
      "chat.update",
    ],
  },
  "assistant:write": { other: ["being declared as an agent"] },
  commands: { other: ["slash commands", "shortcuts"] },
  "im:write": { methods: ["conversations.open"] },
  "users:read": { methods: ["users.info"] },
  "channels:history": { methods: READS_THREADS },
  "groups:history": { methods: READS_THREADS },
  "im:history": { methods: READS_THREADS, events: ["message.im"] },
  "mpim:history": { methods: READS_THREADS, events: ["message.mpim"] },
  "channels:read": { methods: READS_CHANNELS },
  "groups:read": { methods: READS_CHANNELS },
  "mpim:read": { methods: READS_CHANNELS },
  "usergroups:read": { methods: ["usergroups.list", "usergroups.users.list"] },
  // Downloads are plain requests: https://docs.slack.dev/reference/objects/file-object
  "files:read": { methods: ["files.info"], other: ["downloads of files"] },
  "files:write": { methods: ["files.completeUploadExternal", "files.getUploadURLExternal"] },
  "reactions:write": { methods: ["reactions.add", "reactions.remove"] },
};

/** Methods and events that need no scope. */
const FREE = {
  methods: ["auth.test", "chat.getPermalink", "views.open", "views.publish", "views.update"],
  events: ["app_home_opened"],
};

describe("manifest.yml and the code", () => {
  /** With the part that declares the app as an agent. */
  const manifest = readManifest(true);

  it("agree on commands, shortcuts and events", () => {
    expect(registered()).toEqual({
      command: manifest.features.slash_commands.map(({ command }) => command),
      shortcut: manifest.features.shortcuts.map(({ callback_id }) => callback_id),
      // Messages are one event to the code, and one for each kind of channel to Slack.
      event: [...new Set(manifest.settings.event_subscriptions.bot_events.map((name) => name.split(".")[0]))],
    });
  });

  it("agree that the app hears of messages in channels only where its operator adds that", () => {
    const { bot_events } = manifest.settings.event_subscriptions;
    expect(bot_events.filter((name) => name === "message.channels" || name === "message.groups")).toEqual([]);
  });

  it("agree that the app is an agent only where its operator says so", () => {
    const { oauth_config, settings } = readManifest();
    const without = (all: readonly string[], one: string) => all.filter((each) => each !== one);
    expect(oauth_config.scopes.bot).toEqual(without(manifest.oauth_config.scopes.bot, "assistant:write"));
    expect(settings.event_subscriptions.bot_events).toEqual(
      without(manifest.settings.event_subscriptions.bot_events, "agent_session_stopped"),
    );
  });

  it("agree on what is optional", () => {
    const optional = [...Object.keys(OPTIONAL_SCOPES), ...GROUP_MESSAGE_SCOPES];
    expect(manifest.oauth_config.scopes.bot_optional.toSorted()).toEqual(optional.toSorted());
  });

  it("agree on the text of commands: as typed, not as markup", () => {
    expect(manifest.features.slash_commands.map(({ should_escape }) => should_escape)).toEqual([false]);
  });

  it("agree on the scopes: each has a use, and nothing else is used", () => {
    expect(manifest.oauth_config.scopes.bot).toEqual(Object.keys(USES));
    const called = ["intake", "slack"]
      .flatMap(sourceFiles)
      .concat(readFileSync(new URL("../../src/app/slack/connection/identity.ts", import.meta.url), "utf8"))
      .flatMap((source) =>
        [...source.matchAll(/client((?:\s*\.\w+){2,3})\(/g)].map((match) =>
          (match[1] ?? "").replaceAll(/\s/g, "").slice(1),
        ),
      );
    const uses = Object.values(USES);
    expect(new Set(called)).toEqual(
      new Set([...FREE.methods, ...uses.flatMap(({ methods = [] }) => methods)]),
    );
    expect(new Set(manifest.settings.event_subscriptions.bot_events)).toEqual(
      new Set([...FREE.events, ...uses.flatMap(({ events = [] }) => events)]),
    );
  });
});
