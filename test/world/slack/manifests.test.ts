// @module-tag all
import { expect, it } from "vitest";
import { makeClient, refusalOf, startSlack } from "./setup.ts";

const CONFIG_TOKEN = "xoxe.xoxp-1-config";
const SOCKET = { display_information: { name: "Docs" }, settings: { socket_mode_enabled: true } };

it("creates, exports and updates apps with a configuration token, and refuses other tokens", async () => {
  await using place = await startSlack({ configToken: CONFIG_TOKEN });
  const { slack, client } = place;
  const config = makeClient(slack, CONFIG_TOKEN);
  const manifest = JSON.stringify(SOCKET);
  expect(await config.apiCall("apps.manifest.validate", { manifest })).toMatchObject({ ok: true });
  expect(slack.manifests.all().size).toBe(0);
  const made: object = await config.apiCall("apps.manifest.create", { manifest });
  expect(made).toMatchObject({
    app_id: expect.stringMatching(/^A/),
    credentials: { signing_secret: expect.stringMatching(/^[0-9a-f]{32}$/) },
  });
  const appId = [...slack.manifests.all().keys()][0] ?? "";
  expect(await config.apiCall("apps.manifest.export", { app_id: appId })).toMatchObject({ manifest: SOCKET });
  const scopes = { ...SOCKET, oauth_config: { scopes: { bot: ["commands"] } } };
  const updated = await config.apiCall("apps.manifest.update", {
    app_id: appId,
    manifest: JSON.stringify(scopes),
  });
  expect(updated).toMatchObject({ app_id: appId, permissions_updated: true });
  expect(slack.manifests.find(appId)).toEqual(scopes);
  expect(await refusalOf(client.apiCall("apps.manifest.export", { app_id: appId }))).toBe(
    "not_allowed_token_type",
  );
  expect(await refusalOf(config.apiCall("apps.manifest.export", { app_id: "A0NOBODY" }))).toBe(
    "app_not_found",
  );
  expect(await refusalOf(config.apiCall("apps.manifest.export", { app_id: "nope" }))).toBe("invalid_app_id");
  expect(await refusalOf(config.auth.test())).toBe("not_allowed_token_type");
});

it("says what is wrong with a manifest, and where", async () => {
  await using place = await startSlack({ configToken: CONFIG_TOKEN });
  const config = makeClient(place.slack, CONFIG_TOKEN);
  const manifest = JSON.stringify({
    display_information: { name: "Docs" },
    settings: { event_subscriptions: { bot_events: ["app_mention"] }, interactivity: { is_enabled: true } },
  });
  await expect(config.apiCall("apps.manifest.create", { manifest })).rejects.toMatchObject({
    data: {
      error: "invalid_manifest",
      errors: [
        { pointer: "/settings/event_subscriptions" },
        { pointer: "/settings/interactivity" },
        { pointer: "/settings/interactivity" },
      ],
    },
  });
});
