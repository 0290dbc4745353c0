import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ownManifest } from "../../src/app/slack/manifest/own-manifest.ts";
import { need } from "../support/need.ts";
import {
  CONFIG_TOKEN,
  openSetupPlace,
  SETUP_KEY,
  SETUP_TOKEN,
  type SetupProcess,
} from "../support/setup-place.ts";
import { APP_TOKEN, BOT_TOKEN } from "../support/world.ts";

it("asks the same in a terminal, and asks again what was wrong", { tags: "all" }, async () => {
  need("bubblewrap");
  await using place = await openSetupPlace();
  const setup = place.start("--terminal");
  const answer = async (question: RegExp, line: string) => {
    await setup.wrote(question);
    setup.stdout = "";
    setup.type(line);
  };
  await answer(/How Slack reaches the app \(socket, http\) \[socket\]: $/, "pigeon");
  await answer(/Choose one of these\.\nHow Slack reaches the app .*: $/, "");
  await answer(/Public host, for HTTP: $/, "");
  await answer(/App Configuration Token: $/, CONFIG_TOKEN);
  await answer(
    /Slack app: A\w+ is created [^]*The app's settings: https:\/\/api\.slack\.com\/apps\/A[^]*Bot User OAuth Token: $/,
    "xoxb-wrong",
  );
  await answer(/App-level token: $/, APP_TOKEN);
  await answer(/FAULT {2}app {2}Slack: Slack refuses SLACK_BOT_TOKEN[^]*Bot User OAuth Token: $/, BOT_TOKEN);
  await answer(/App-level token: $/, APP_TOKEN);
  await answer(/Repository: $/, place.repository);
  await answer(/GitHub token: $/, SETUP_TOKEN);
  await answer(/Agent \(opencode, .*\) \[opencode\]: $/, "");
  await answer(/Model provider \(anthropic, openai, gemini\): $/, "");
  await answer(/Model key: $/, SETUP_KEY);
  await answer(/Write, check and start \(Enter\): $/, "");
  await setup.wrote(/Both programs run\./);
  const [manifest] = place.slack.manifests.all().values();
  expect(manifest).toEqual(await ownManifest({ kind: "socket" }));
  await setup.stop();
  expect(readFileSync(join(place.folder, "service.yml"), "utf8")).toContain("preset: opencode");
  expect(place.written().some(({ text }) => text.includes(CONFIG_TOKEN))).toBe(false);
});

const CTRL_C = "\u0003";

it("shows no secret in a real terminal, and goes on after Ctrl-C", { tags: "all" }, async () => {
  need("bubblewrap");
  need("bsdutils");
  await using place = await openSetupPlace();
  const shown: string[] = [];
  const answer = async (setup: SetupProcess, question: RegExp, line: string) => {
    await setup.wrote(question);
    shown.push(setup.stdout);
    setup.stdout = "";
    setup.press(line === CTRL_C ? line : `${line}\r`);
  };
  const first = place.startInTerminal("--terminal");
  await answer(first, /How Slack reaches the app .*: /, "");
  await answer(first, /Public host, for HTTP: /, "");
  await answer(first, /App Configuration Token: /, "");
  await answer(first, /Bot User OAuth Token: /, BOT_TOKEN);
  await answer(first, /App-level token: /, APP_TOKEN);
  await answer(first, /Repository: /, "half an addr");
  await answer(first, /GitHub token: /, CTRL_C);
  await first.exit();
  const second = place.startInTerminal("--terminal");
  await answer(second, /Repository: /, place.repository);
  await answer(second, /GitHub token: /, SETUP_TOKEN);
  await answer(second, /Agent \(opencode, .*\) \[opencode\]: /, "");
  await answer(second, /Model provider .*: /, "");
  await answer(second, /Model key: /, SETUP_KEY);
  await answer(second, /Write, check and start \(Enter\): /, "");
  await answer(second, /Both programs run\./, CTRL_C);
  await second.exit();
  const told = [...shown, first.stdout, second.stdout].join("\n");
  // What isn't secret is shown as it is typed.
  expect(told).toContain(place.repository);
  for (const secret of [BOT_TOKEN, APP_TOKEN, SETUP_TOKEN, SETUP_KEY]) expect(told).not.toContain(secret);
  expect(told.match(/Slack tokens\r?\n/g)).toHaveLength(1);
  expect(place.written().map(({ name }) => name)).toEqual(expect.arrayContaining([".env", "service.yml"]));
});

it("brings a newer manifest into the app, and says whether to install it again", async () => {
  const own = await ownManifest({ kind: "socket" });
  const old = structuredClone(own) as { oauth_config: { scopes: { bot: string[] } } };
  old.oauth_config.scopes.bot = ["chat:write", "emoji:read"];
  const words = structuredClone(own) as { features: { shortcuts: { description: string }[] } };
  for (const shortcut of words.features.shortcuts) shortcut.description = "Old words";
  await using place = await openSetupPlace({ A0OLD: { ...old }, A0WORDS: { ...words }, A0NEW: { ...own } });
  const run = async (appId: string, answers: string[], ...args: string[]) => {
    const setup = place.start("--update-manifest", "--app-id", appId, ...args);
    for (const answer of answers) setup.type(answer);
    const code = await setup.exit();
    expect(setup.stdout + setup.stderr).not.toContain(CONFIG_TOKEN);
    return { code, stdout: setup.stdout, stderr: setup.stderr };
  };
  const refused = await run("A0OLD", [CONFIG_TOKEN, "n"]);
  expect(refused.stdout).toContain("+ oauth_config.scopes.bot: reactions:write\n");
  expect(refused.stdout).toMatch(/Nothing was changed\.\n$/);
  expect(place.slack.manifests.find("A0OLD")).toEqual(old);
  const updated = await run("A0OLD", [CONFIG_TOKEN, "y"]);
  expect(updated.stdout).toMatch(/Its scopes changed: press Install App → Reinstall in its settings\.\n$/);
  expect(place.slack.manifests.find("A0OLD")).toMatchObject({
    oauth_config: { scopes: { bot: expect.arrayContaining(["emoji:read", "reactions:write"]) } },
  });
  const ofWords = await run("A0WORDS", [CONFIG_TOKEN], "--yes");
  expect(ofWords.stdout).toMatch(/~ features\.shortcuts\.fix_these_docs\.description: Old words → /);
  expect(ofWords.stdout).toMatch(/It needn't be installed again\.\n$/);
  expect((await run("A0NEW", [CONFIG_TOKEN])).stdout).toMatch(/The app has all that this version uses\./);
  expect(await run("A0NOBODY", [CONFIG_TOKEN])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^Slack refuses \(app_not_found\)\. The token's workspace has no such app/),
  });
});
