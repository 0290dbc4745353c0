import type { Context } from "hono";
import { z } from "zod";
import { ApiRefusal } from "./errors.ts";

const MAX_TITLE_CHARS = 256;
const MAX_BODY_CHARS = 65_536;

const title = z.string().trim().max(MAX_TITLE_CHARS);
const text = z.string().max(MAX_BODY_CHARS);

export const CreatePullRequest = z.object({
  title: title.default(""),
  body: text.nullish(),
  head: z.string().max(500),
  base: z.string().max(500),
  draft: z.boolean().default(false),
});
export const ChangePullRequest = z.object({
  title: title.min(1).optional(),
  body: text.nullish(),
  state: z.enum(["open", "closed"]).optional(),
});
const Names = z.array(z.string().min(1).max(100)).max(100);
export const AddLabels = z.object({ labels: Names });
export const AddAssignees = z.object({ assignees: Names });
export const AskReviewers = z.object({ reviewers: Names.default([]), team_reviewers: Names.default([]) });
export const MergePullRequest = z.object({
  commit_title: z.string().max(MAX_TITLE_CHARS).optional(),
  commit_message: text.optional(),
  sha: z.string().max(64).optional(),
  merge_method: z.enum(["merge", "squash", "rebase"]).default("merge"),
});

/**
 * The request's JSON object, checked. Throws `ApiRefusal` in GitHub's words: 400 for no JSON, 422
 * for a wrong field.
 */
export async function readBody<Schema extends z.ZodType>(
  context: Context,
  schema: Schema,
): Promise<z.infer<Schema>> {
  const raw = await context.req.text();
  const parsed = schema.safeParse(parseObject(raw));
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message, code, input }) => {
    const field = String(path[0] ?? "");
    if (code === "invalid_type" && input === undefined) return `"${field}" wasn't supplied.`;
    return `For '/${field}', ${message}.`;
  });
  throw new ApiRefusal(422, `Invalid request.\n\n${faults.join("\n")}`);
}

function parseObject(raw: string): object {
  let value: unknown;
  try {
    value = raw === "" ? {} : JSON.parse(raw);
  } catch {
    throw new ApiRefusal(400, "Problems parsing JSON");
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new ApiRefusal(400, "Body should be a JSON object");
}
