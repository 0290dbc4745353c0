import { z } from "zod";
import { jsonOf } from "../../shared/text/text.ts";
import { HttpUrl } from "../../shared/machine/proxy.ts";
import type { SettingsReader } from "../../shared/machine/settings-reader.ts";

/** Text without spaces or control characters, as in a token. */
export const NO_SPACE = /^[\x21-\x7e]+$/;

/**
 * A docs project at a job service. `idempotencyKeys` is true if the service honors them without
 * announcing it.
 */
export type Project = {
  name: string;
  id: string;
  apiKey: string;
  baseUrl: string;
  idempotencyKeys: boolean;
  /** The ids of the channels that use it. */
  channels: readonly string[];
};

const PROJECT_NAME = /^[a-z0-9][a-z0-9_-]{0,39}$/i;

/** Slack's limit for the options of a select, which the form uses for projects. */
const PROJECTS_MAX = 100;

const WITHOUT_V2 = "without /v2 at its end";
/** Also with all that follows it in the address of a call. */
const V2 = /\/v2(?:\/agent\/.*)?\/*$/i;
const BaseUrl = HttpUrl.refine((url) => !URL.canParse(url) || !V2.test(new URL(url).pathname), {
  error: WITHOUT_V2,
});
/** The id of a channel, such as C012ABCDEF. */
export const CHANNEL_ID = /^[CG][A-Z0-9]{2,30}$/;

const ProjectEntry = z.strictObject({
  name: z.string().regex(PROJECT_NAME),
  id: z.string().min(1),
  apiKey: z.string().regex(NO_SPACE).optional(),
  baseUrl: BaseUrl.optional(),
  idempotencyKeys: z.boolean().optional(),
  channels: z.array(z.string().regex(CHANNEL_ID)).min(1).optional(),
});

/**
 * Reads the projects from the `DOCS_AGENT_*` settings. `idempotencyKeys` is true if the service at
 * DOCS_AGENT_BASE_URL honors them.
 */
export function readProjects(from: SettingsReader, idempotencyKeys: boolean): [Project, ...Project[]] {
  const needBaseUrl = () =>
    from.need(
      "DOCS_AGENT_BASE_URL",
      BaseUrl,
      `the URL of the job service, with http:// or https:// before it and ${WITHOUT_V2}`,
    );
  const needApiKey = () =>
    from.needSecret(
      "DOCS_AGENT_API_KEY",
      z.string().regex(NO_SPACE),
      "the project's admin API key from the job service",
    );

  const listed = from.given("DOCS_AGENT_PROJECTS");
  if (listed === undefined) {
    return [
      {
        name: "default",
        id: from.need("DOCS_AGENT_PROJECT_ID", z.string(), "the project's id at the job service"),
        baseUrl: needBaseUrl(),
        apiKey: needApiKey(),
        idempotencyKeys,
        channels: [],
      },
    ];
  }
  const rule =
    `DOCS_AGENT_PROJECTS must be a JSON array of 1 to ${PROJECTS_MAX} projects such as ` +
    `[{"name":"docs","id":"…"}], each with name, id and, where they differ, apiKey, baseUrl, ` +
    "idempotencyKeys and channels (ids of the channels that use it)";
  const parsed = z.array(ProjectEntry).min(1).max(PROJECTS_MAX).safeParse(jsonOf(listed));
  const entries = parsed.success ? parsed.data : [];
  if (!parsed.success) {
    // Only the places are reported, never the values, because an entry holds a key. The one message
    // passed on is our own.
    const places = parsed.error.issues
      .filter((issue) => issue.path.length > 0)
      .flatMap(({ path, ...issue }) => {
        // Names that it doesn't have. A value isn't among them.
        if (issue.code === "unrecognized_keys") {
          return issue.keys
            .filter((key) => /^[a-z]{1,40}$/i.test(key))
            .map((key) => [...path, key].join("."));
        }
        return [path.join(".") + (issue.message === WITHOUT_V2 ? ` must be ${WITHOUT_V2}` : "")];
      });
    const wrong = [...new Set(places)].join(", ");
    const isJson = jsonOf(listed) !== undefined;
    const why = isJson ? (wrong === "" ? "" : ` (wrong: ${wrong})`) : ", with double quotes and on one line";
    from.faults.push(`${rule}${why}.`);
  }
  const names = entries.map((entry) => entry.name.toLowerCase());
  if (new Set(names).size < names.length)
    from.faults.push("DOCS_AGENT_PROJECTS must give each project a different name.");
  const channels = entries.flatMap((entry) => [...new Set(entry.channels)]);
  if (new Set(channels).size < channels.length)
    from.faults.push("DOCS_AGENT_PROJECTS must name each channel in one project only.");
  // Needed for projects without their own. If set, they are always checked.
  const lacks = (name: "baseUrl" | "apiKey") => entries.some((entry) => entry[name] === undefined);
  const baseUrl = lacks("baseUrl") || from.given("DOCS_AGENT_BASE_URL") !== undefined ? needBaseUrl() : "";
  const apiKey = lacks("apiKey") || from.given("DOCS_AGENT_API_KEY") !== undefined ? needApiKey() : "";
  const [first, ...rest] = entries.map((entry) => ({
    name: entry.name,
    id: entry.id,
    baseUrl: entry.baseUrl ?? baseUrl,
    apiKey: entry.apiKey ?? apiKey,
    // The general setting is for the general service. Another service may not honor keys and could
    // run a job twice.
    idempotencyKeys: entry.idempotencyKeys ?? (entry.baseUrl === undefined && idempotencyKeys),
    channels: entry.channels ?? [],
  }));
  return [
    first ?? { name: "", id: "", baseUrl: "", apiKey: "", idempotencyKeys: false, channels: [] },
    ...rest,
  ];
}
