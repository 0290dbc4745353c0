import { readFileSync } from "node:fs";
import { Ajv, type AnySchema } from "ajv";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { agentManifest, manifestSource } from "../support/manifest.ts";

const source = manifestSource();
const schema = JSON.parse(
  readFileSync(
    new URL("../fixtures/slack-manifest-schema/manifest.schema.2.0.0.json", import.meta.url),
    "utf8",
  ),
) as AnySchema;

/** What the tests look at, as manifest.yml has it. */
const Manifest = z.object({
  display_information: z.object({
    name: z.string(),
    description: z.string(),
    background_color: z.string(),
    long_description: z.string(),
  }),
  features: z.object({
    shortcuts: z.array(z.object({ name: z.string(), callback_id: z.string() })),
    slash_commands: z.array(z.object({ command: z.string(), url: z.string(), should_escape: z.boolean() })),
  }),
  oauth_config: z.object({
    scopes: z.object({ bot: z.array(z.string()), bot_optional: z.array(z.string()) }),
  }),
  settings: z.object({
    event_subscriptions: z.object({ request_url: z.string() }),
    interactivity: z.object({ request_url: z.string() }),
  }),
});
const manifest = Manifest.parse(parse(source));

describe("manifest.yml", () => {
  it("is valid by Slack's schema", () => {
    // The schema has keywords of Slack's own ("regex") and formats that Ajv does not know.
    const validate = new Ajv({ strict: false, validateFormats: false, allErrors: true }).compile(schema);
    const valid = validate(parse(source));
    expect(validate.errors ?? []).toEqual([]);
    expect(valid).toBe(true);
  });

  it("is valid with the part that declares the app as an agent", () => {
    const validate = new Ajv({ strict: false, validateFormats: false, allErrors: true }).compile(schema);
    expect(source).not.toMatch(/^[^#]*agent_view/m);
    const features = z.object({ agent_view: z.object({ suggested_prompts: z.array(z.unknown()) }) });
    const declared = z.object({ features }).parse(parse(agentManifest()));
    expect(declared.features.agent_view.suggested_prompts.length).toBeGreaterThan(0);
    const valid = validate(parse(agentManifest()));
    expect(validate.errors ?? []).toEqual([]);
    expect(valid).toBe(true);
    const long = agentManifest().replace("your docs repository", "x".repeat(300));
    expect(validate(parse(long))).toBe(false);
  });

  it("would not be valid with a mistake in it", () => {
    const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema);
    expect(validate(parse(source.replace("bot_events:", "bot_event:")))).toBe(false);
  });

  it("keeps within Slack's limits", () => {
    const { name, description, background_color, long_description } = manifest.display_information;
    expect(name.length).toBeLessThanOrEqual(35);
    expect(description.length).toBeLessThanOrEqual(140);
    expect(background_color).toMatch(/^#[0-9a-f]{6}$/i);
    expect(long_description.length).toBeGreaterThanOrEqual(175);
    expect(long_description.length).toBeLessThanOrEqual(4000);
    for (const shortcut of manifest.features.shortcuts) expect(shortcut.name.length).toBeLessThanOrEqual(24);
    for (const { command } of manifest.features.slash_commands) {
      expect(command).toMatch(/^\/[a-z-]+$/);
      expect(command.length).toBeLessThanOrEqual(32);
    }
  });

  it("sends everything to the one path that the app serves, on the host to be replaced", () => {
    const urls = [
      ...manifest.features.slash_commands.map((command) => command.url),
      manifest.settings.event_subscriptions.request_url,
      manifest.settings.interactivity.request_url,
    ];
    expect(new Set(urls)).toEqual(new Set(["https://YOUR-HOST/slack/events"]));
    expect(source.match(/https:\/\/YOUR-HOST/g)).toHaveLength(urls.length);
  });

  it("says of every scope what it is for", () => {
    const { bot } = manifest.oauth_config.scopes;
    const explained = source.match(/^ +- [a-z_.]+(:[a-z.]+)* # \S.+$/gm) ?? [];
    expect(explained.map((line) => line.trim().split(" ")[1])).toEqual(bot);
  });

  // Slack asks for the scopes under `bot`. Those under `bot_optional` only mark some of them.
  // https://docs.slack.dev/reference/app-manifest
  it("names each optional scope under bot, too, and each scope once", () => {
    const { bot, bot_optional } = manifest.oauth_config.scopes;
    expect(bot_optional.filter((scope) => !bot.includes(scope))).toEqual([]);
    for (const scopes of [bot, bot_optional]) expect(new Set(scopes).size).toBe(scopes.length);
  });
});
