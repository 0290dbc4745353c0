import { LogLevel, WebAPIPlatformError, WebClient } from "@slack/web-api";
import { z } from "zod";
import type { JsonFields } from "../../../shared/text/json-fields.ts";
import { slackTrouble } from "../connection/identity.ts";

const TIMEOUT_MS = 20_000;

/** Why Slack did nothing. `reasons` are what is wrong with a manifest, and where. */
export type ManifestRefusal = { error: string; reasons: string[] };

/** A created app: its id, and the secret that signs Slack's requests. */
export type CreatedApp = { appId: string; signingSecret: string };

type Answer<Value> = ({ ok: true } & Value) | ({ ok: false } & ManifestRefusal);

const Refused = z.object({
  errors: z.array(z.object({ message: z.string().default(""), pointer: z.string().default("") })),
});
const Created = z.object({ app_id: z.string(), credentials: z.object({ signing_secret: z.string() }) });
const Exported = z.object({ manifest: z.record(z.string(), z.unknown()) });
const Updated = z.object({ permissions_updated: z.boolean().default(false) });

/** What to do about tokens that Slack doesn't take here. */
const ADVICE: Readonly<Record<string, string>> = {
  invalid_auth: "Generate another App Configuration Token at https://api.slack.com/apps.",
  token_expired: "It lives for 12 hours. Generate another one at https://api.slack.com/apps.",
  not_allowed_token_type:
    "This isn't an App Configuration Token. Generate one at https://api.slack.com/apps.",
  app_not_found: "The token's workspace has no such app, or it is somebody else's. Check the app's id.",
  invalid_app_id: "Copy the App ID from Basic Information in your Slack app's settings.",
};

/** A refusal in words, with what to do. */
export function manifestRefusalText({ error, reasons }: ManifestRefusal): string {
  const why = reasons.length === 0 ? "" : ` ${reasons.join("; ")}.`;
  return `Slack refuses (${error}).${why} ${ADVICE[error] ?? "Try again later."}`;
}

/**
 * Slack's API for manifests, with an App Configuration Token, which lives for 12 hours and is kept
 * nowhere.
 */
export class ManifestApi {
  readonly #client: WebClient;

  constructor(apiUrl: string, configToken: string) {
    this.#client = new WebClient(configToken, {
      slackApiUrl: apiUrl,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      timeout: TIMEOUT_MS,
      logLevel: LogLevel.ERROR,
    });
  }

  /** Asks whether Slack would take a manifest. Changes nothing. */
  async validate(manifest: JsonFields): Promise<Answer<object>> {
    return this.#call("apps.manifest.validate", { manifest }, z.object({}), () => ({}));
  }

  /** Creates an app. It isn't installed yet. */
  async create(manifest: JsonFields): Promise<Answer<CreatedApp>> {
    return this.#call("apps.manifest.create", { manifest }, Created, ({ app_id: appId, credentials }) => ({
      appId,
      signingSecret: credentials.signing_secret,
    }));
  }

  async export(appId: string): Promise<Answer<{ manifest: JsonFields }>> {
    return this.#call("apps.manifest.export", { app_id: appId }, Exported, ({ manifest }) => ({ manifest }));
  }

  /** Replaces an app's whole manifest. */
  async update(appId: string, manifest: JsonFields): Promise<Answer<{ arePermissionsNew: boolean }>> {
    const args = { app_id: appId, manifest };
    return this.#call(
      "apps.manifest.update",
      args,
      Updated,
      ({ permissions_updated: arePermissionsNew }) => ({
        arePermissionsNew,
      }),
    );
  }

  async #call<Data, Value extends object>(
    method: string,
    args: Record<string, unknown>,
    schema: z.ZodType<Data>,
    read: (data: Data) => Value,
  ): Promise<Answer<Value>> {
    try {
      const parsed = schema.safeParse(await this.#client.apiCall(method, args));
      if (!parsed.success) return { ok: false, error: "unreadable answer", reasons: [] };
      return { ok: true, ...read(parsed.data) };
    } catch (thrown) {
      const told = thrown instanceof WebAPIPlatformError ? Refused.safeParse(thrown.data).data : undefined;
      const reasons = (told?.errors ?? []).map(({ message, pointer }) => `${message} (${pointer})`);
      return { ok: false, error: slackTrouble(thrown).error, reasons };
    }
  }
}

/** The id of the app that an app-level token belongs to, which stands in it. Null for others. */
export function appIdOf(appToken: string): string | null {
  return /^xapp-\d+-(A[A-Z0-9]+)-/.exec(appToken)?.[1] ?? null;
}
