import * as z from "zod";
import { jsonOf } from "../../../src/shared/text/text.ts";
import { refusalWithMessages, SlackRefusal } from "../refusal.ts";

/** The arguments of one call, without the token. */
export type Args = Record<string, unknown>;

const Json = z.record(z.string(), z.unknown());

/**
 * Arguments that a form carries as JSON text. `@slack/web-api` does that with everything that isn't
 * a scalar.
 */
const JSON_ARGUMENTS = ["blocks", "view", "metadata", "attachments", "loading_messages", "files", "manifest"];

/** Reads a call's body. The token is returned separately, if there is one. */
export function parseBody(contentType: string, body: string): { args: Args; token: string | undefined } {
  const { token, ...args } = parseFields(contentType, body);
  for (const name of JSON_ARGUMENTS) {
    const value = args[name];
    if (typeof value === "string") args[name] = jsonOf(value) ?? value;
  }
  return { args, token: typeof token === "string" ? token : undefined };
}

function parseFields(contentType: string, body: string): Args {
  const type = contentType.split(";")[0]?.trim() ?? "";
  if (body === "" && type === "") return {};
  if (type === "application/x-www-form-urlencoded") return Object.fromEntries(new URLSearchParams(body));
  if (type !== "application/json") throw new SlackRefusal("invalid_post_type");
  const parsed = Json.safeParse(jsonOf(body));
  if (!parsed.success) throw new SlackRefusal("invalid_json");
  return parsed.data;
}

/** A boolean in the form that JSON or a form has. */
export const Flag = z
  .union([z.boolean(), z.enum(["true", "false", "1", "0"])])
  .transform((value) => value === true || value === "true" || value === "1");

/**
 * Reads the arguments that a method knows. Like Slack, it ignores others. Throws
 * `invalid_arguments` with the reasons.
 */
export function readArgs<Schema extends z.ZodType>(schema: Schema, args: Args): z.infer<Schema> {
  const parsed = schema.safeParse(args);
  if (parsed.success) return parsed.data;
  throw refusalWithMessages(
    "invalid_arguments",
    parsed.error.issues.map((issue) => {
      const name = String(issue.path[0]);
      return args[name] === undefined
        ? `missing required field: ${name}`
        : `invalid value for field: ${name}`;
    }),
  );
}
