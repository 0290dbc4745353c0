import * as z from "zod";
import { isJsonFields } from "../../../src/shared/text/json-fields.ts";
import type { AppManifest } from "../app-manifests.ts";
import { makeSecret } from "../ids.ts";
import { SlackRefusal } from "../refusal.ts";
import { type Args, readArgs } from "./args.ts";
import type { MethodContext, MethodTable } from "./method.ts";

type Trouble = { message: string; pointer: string };

const ManifestArgs = z.object({ manifest: z.unknown().refine((value) => value !== undefined) });
const AppArgs = z.object({ app_id: z.string().min(1) });
/** What the rules below look at. */
const Looked = z.looseObject({
  display_information: z.looseObject({ name: z.string().min(1).max(35) }),
  features: z
    .looseObject({ slash_commands: z.array(z.looseObject({ url: z.string().optional() })).default([]) })
    .prefault({}),
  oauth_config: z
    .looseObject({ scopes: z.looseObject({ bot: z.array(z.string()).default([]) }).prefault({}) })
    .prefault({}),
  settings: z
    .looseObject({
      socket_mode_enabled: z.boolean().default(false),
      event_subscriptions: z.looseObject({ request_url: z.string().optional() }).optional(),
      interactivity: z
        .looseObject({ is_enabled: z.boolean(), request_url: z.string().optional() })
        .optional(),
    })
    .prefault({}),
});

/**
 * https://docs.slack.dev/reference/methods/apps.manifest.create and its sisters. They take an app
 * configuration token.
 */
export const manifestMethods: MethodTable = {
  "apps.manifest.validate": { token: "config", scopes: [], run: validate },
  "apps.manifest.create": { token: "config", scopes: [], run: create },
  "apps.manifest.export": { token: "config", scopes: [], run: exportOne },
  "apps.manifest.update": { token: "config", scopes: [], run: update },
};

function validate(args: Args) {
  acceptable(args);
  return { errors: [] };
}

function create(args: Args, { manifests }: MethodContext) {
  const appId = manifests.create(acceptable(args));
  return {
    app_id: appId,
    credentials: {
      client_id: `${Date.now()}.1`,
      client_secret: makeSecret(),
      verification_token: makeSecret(),
      signing_secret: makeSecret(),
    },
    oauth_authorize_url: `https://slack.com/oauth/v2/authorize?client_id=${Date.now()}.1`,
  };
}

function exportOne(args: Args, context: MethodContext) {
  return { manifest: found(args, context).manifest };
}

function update(args: Args, context: MethodContext) {
  const { appId, manifest: before } = found(args, context);
  const manifest = acceptable(args);
  context.manifests.replace(appId, manifest);
  const scopes = (of: AppManifest) => Looked.parse(of).oauth_config.scopes.bot.toSorted().join();
  return { app_id: appId, permissions_updated: scopes(before) !== scopes(manifest) };
}

function found(args: Args, { manifests }: MethodContext): { appId: string; manifest: AppManifest } {
  const { app_id: appId } = readArgs(AppArgs, args);
  if (!/^A[A-Z0-9]+$/.test(appId)) throw new SlackRefusal("invalid_app_id");
  const manifest = manifests.find(appId);
  if (manifest === undefined) throw new SlackRefusal("app_not_found");
  return { appId, manifest };
}

/** The manifest in the arguments. Throws `invalid_manifest` with places, as its page shows. */
function acceptable(args: Args): AppManifest {
  const { manifest } = readArgs(ManifestArgs, args);
  const parsed = Looked.safeParse(manifest);
  const errors = parsed.success
    ? troubles(parsed.data)
    : parsed.error.issues.map(({ message, path }) => ({ message, pointer: `/${path.join("/")}` }));
  if (errors.length > 0 || !isJsonFields(manifest)) throw new SlackRefusal("invalid_manifest", { errors });
  return { ...manifest };
}

function troubles({ features, settings }: z.infer<typeof Looked>): Trouble[] {
  const { socket_mode_enabled: isSocket, event_subscriptions: events, interactivity } = settings;
  const found: Trouble[] = [];
  if (isSocket) return found;
  if (events !== undefined && events.request_url === undefined) {
    found.push({
      message: "Event Subscription requires either Request URL or Socket Mode Enabled",
      pointer: "/settings/event_subscriptions",
    });
  }
  if (interactivity?.is_enabled === true && interactivity.request_url === undefined) {
    const pointer = "/settings/interactivity";
    found.push({ message: "Interactivity requires a Request URL", pointer });
    found.push({ message: "Interactivity requires Socket Mode enabled", pointer });
  }
  for (const [index, { url }] of features.slash_commands.entries()) {
    if (url !== undefined) continue;
    const pointer = `/features/slash_commands/${index}`;
    found.push({ message: "Slash Command requires a Request URL", pointer });
  }
  return found;
}
