import { expect, it } from "vitest";
import {
  manifestDifferences,
  mergeManifest,
  needsReinstall,
  reachOf,
} from "../../../src/app/slack/manifest/merge-manifest.ts";
import { newAppLink, ownManifest } from "../../../src/app/slack/manifest/own-manifest.ts";

/** What an admin made of an older version's manifest. */
function anOlderOne(): Record<string, unknown> {
  return {
    display_information: { name: "Acme Docs", description: "Ours", background_color: "#000000" },
    features: {
      bot_user: { display_name: "acme-docs", always_online: false },
      slash_commands: [
        { command: "/docs-agent", url: "https://docs.acme.com/slack/events", description: "Old words" },
        { command: "/acme", url: "https://docs.acme.com/slack/events", description: "Their own" },
      ],
      shortcuts: [],
    },
    oauth_config: {
      scopes: { bot: ["chat:write", "commands", "emoji:read"] },
      redirect_urls: ["https://acme.com"],
    },
    settings: {
      event_subscriptions: { request_url: "https://docs.acme.com/slack/events", bot_events: ["app_mention"] },
      interactivity: { is_enabled: true, request_url: "https://docs.acme.com/slack/events" },
      socket_mode_enabled: false,
      token_rotation_enabled: true,
    },
  };
}

it("brings this version in, and keeps what is the admin's", async () => {
  const live = anOlderOne();
  expect(reachOf(live)).toEqual({ kind: "http", host: "docs.acme.com" });
  const own = await ownManifest({ kind: "http", host: "docs.acme.com" });
  const merged = mergeManifest(live, own);
  expect(merged).toMatchObject({
    display_information: { name: "Acme Docs", description: "Ours", background_color: "#000000" },
    features: {
      bot_user: { display_name: "acme-docs", always_online: false },
      slash_commands: [
        { command: "/docs-agent", description: "Request a docs change", should_escape: false },
        { command: "/acme", description: "Their own" },
      ],
      shortcuts: [{ callback_id: "fix_these_docs" }],
    },
    oauth_config: { redirect_urls: ["https://acme.com"] },
    settings: { token_rotation_enabled: true },
  });
  const { bot } = (merged["oauth_config"] as { scopes: { bot: string[] } }).scopes;
  expect(bot).toEqual(expect.arrayContaining(["emoji:read", "app_mentions:read", "reactions:write"]));
  expect(new Set(bot).size).toBe(bot.length);
  const differences = manifestDifferences(live, merged);
  expect(differences).toContainEqual({ place: "oauth_config.scopes.bot", kind: "added", text: "users:read" });
  expect(differences).toContainEqual({
    place: "features.slash_commands./docs-agent.description",
    kind: "changed",
    text: "Old words → Request a docs change",
  });
  expect(differences.filter(({ kind }) => kind === "removed")).toEqual([]);
  expect(needsReinstall(differences)).toBe(true);
  // What was merged once has nothing more to gain.
  expect(mergeManifest(merged, own)).toEqual(merged);
  expect(manifestDifferences(merged, mergeManifest(merged, own))).toEqual([]);
});

it("needs no reinstall for words alone", async () => {
  const own = await ownManifest({ kind: "socket" });
  const live = structuredClone(own) as { features: { slash_commands: { description: string }[] } };
  for (const command of live.features.slash_commands) command.description = "Old words";
  const differences = manifestDifferences(live, mergeManifest(live, own));
  expect(differences.map(({ kind }) => kind)).toEqual(["changed"]);
  expect(needsReinstall(differences)).toBe(false);
});

it("has no address in Socket Mode, and fits into a link", async () => {
  const own = await ownManifest({ kind: "socket" });
  expect(JSON.stringify(own)).not.toMatch(/YOUR-HOST|request_url|"url"/);
  const link = new URL(newAppLink(own));
  expect(link.origin + link.pathname).toBe("https://api.slack.com/apps");
  expect(JSON.parse(link.searchParams.get("manifest_json") ?? "")).toEqual(own);
  expect(link.href.length).toBeLessThan(8000);
  const http = JSON.stringify(await ownManifest({ kind: "http", host: "docs.acme.com" }));
  expect(http.match(/https:\/\/docs\.acme\.com\/slack\/events/g)).toHaveLength(3);
});
