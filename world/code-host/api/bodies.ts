import type { Context } from "hono";
import { z } from "zod";
import {
  ANNOTATION_LEVELS,
  CommitCheck,
  CommitStatus,
  CONCLUSIONS,
  DEPLOYMENT_STATES,
} from "../commit-records.ts";
import { DiffSide } from "../line-comment.ts";
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
  base: z.string().max(500).optional(),
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
const line = z.int().positive();
const OnLine = {
  body: text.min(1),
  side: DiffSide.optional(),
  start_line: line.nullish(),
};
export const GiveReview = z.object({
  event: z.enum(["APPROVE", "REQUEST_CHANGES", "COMMENT"]),
  body: text.nullish(),
  commit_id: z.string().max(64).optional(),
  comments: z
    .array(z.object({ ...OnLine, path: z.string().min(1), line }))
    .max(100)
    .default([]),
});
export const CommentOnLine = z.object({
  ...OnLine,
  commit_id: z.string().max(64).optional(),
  path: z.string().min(1).optional(),
  line: line.optional(),
  in_reply_to: z.int().optional(),
});
export const DismissReview = z.object({ message: text.min(1) });
export const WriteComment = z.object({ body: text.min(1) });

const sha = z.string().regex(/^[0-9a-f]{40}$/);
export const UpdateBranch = z.object({ expected_head_sha: z.string().max(64).optional() });
export const MergeBranch = z.object({
  base: z.string().min(1).max(500),
  head: z.string().min(1).max(500),
  commit_message: text.optional(),
});
export const CreateRef = z.object({ ref: z.string().max(500), sha });
/**
 * The output of a check, with at most 50 annotations in a call (docs.github.com/rest/checks/runs).
 */
export const CheckOutput = z.object({
  title: z.string().max(10_000).optional(),
  summary: text,
  text: text.nullish(),
  annotations: z
    .array(
      z.object({
        path: z.string().min(1),
        start_line: z.int().positive(),
        end_line: z.int().positive(),
        annotation_level: z.enum(ANNOTATION_LEVELS),
        message: z.string().min(1).max(65_536),
        title: z.string().max(255).optional(),
        raw_details: z.string().max(65_536).optional(),
      }),
    )
    .max(50)
    .default([]),
});
export type CheckOutput = z.infer<typeof CheckOutput>;
export const CreateBlob = z.object({
  content: z.string(),
  encoding: z.enum(["utf-8", "base64"]).default("utf-8"),
});
/**
 * The changes of a tree. They are about files only. A file without `sha` and `content` is removed.
 */
export const CreateTree = z.object({
  base_tree: sha.optional(),
  tree: z
    .array(
      z.object({
        path: z.string().min(1).max(4096),
        mode: z.enum(["100644", "100755", "120000"]),
        type: z.literal("blob").optional(),
        sha: sha.nullish(),
        content: z.string().optional(),
      }),
    )
    .min(1)
    .max(1000),
});
const Person = z.object({ name: z.string().min(1), email: z.string().min(1), date: z.string().optional() });
export const CreateCommit = z.object({
  message: text.min(1),
  tree: sha,
  parents: z.array(sha).max(16).default([]),
  author: Person.optional(),
  committer: Person.optional(),
});
export const ChangeRef = z.object({ sha, force: z.boolean().default(false) });
const CheckRunFields = {
  status: CommitCheck.shape.status.optional(),
  conclusion: z.enum(CONCLUSIONS).optional(),
  details_url: z.string().max(2000).optional(),
  output: CheckOutput.optional(),
};
export const CreateCheckRun = z.object({ name: z.string().min(1), head_sha: sha, ...CheckRunFields });
export const ChangeCheckRun = z.object(CheckRunFields);
export const CreateStatus = z.object({
  state: CommitStatus.shape.state,
  context: z.string().min(1).default("default"),
  description: z.string().max(140).nullish(),
  target_url: z.string().max(2000).nullish(),
});
const url = z.string().max(2000).default("");
export const CreateDeployment = z.object({
  ref: z.string().min(1).max(500),
  task: z.string().max(100).default("deploy"),
  environment: z.string().min(1).max(255).default("production"),
  description: z.string().max(140).nullish(),
  transient_environment: z.boolean().default(false),
  production_environment: z.boolean().optional(),
});
export const CreateDeploymentStatus = z.object({
  state: z.enum(DEPLOYMENT_STATES),
  description: z.string().max(140).default(""),
  environment: z.string().max(255).optional(),
  environment_url: url,
  log_url: url,
  target_url: url,
  auto_inactive: z.boolean().default(true),
});
export const ProtectBranch = z.object({
  required_status_checks: z
    .object({
      strict: z.boolean().optional(),
      contexts: Names.optional(),
      checks: z
        .array(z.object({ context: z.string() }))
        .max(100)
        .optional(),
    })
    .nullable(),
  required_pull_request_reviews: z
    .object({
      required_approving_review_count: z.int().min(0).max(6).optional(),
      dismiss_stale_reviews: z.boolean().optional(),
    })
    .nullable(),
});

/**
 * Resolves to the request's JSON object after checking it. Rejects with `ApiRefusal` in GitHub's
 * words: 400 if it isn't JSON, 422 for a wrong field.
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
