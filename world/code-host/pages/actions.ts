import type { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { z } from "zod";
import { setCheck } from "../checks.ts";
import type { Host } from "../host.ts";
import { ROLES } from "../permissions.ts";
import type { PullRequest } from "../pull-request-store.ts";
import type { PullRequests } from "../pull-requests.ts";
import { lineCommentsIn } from "./line-choices.ts";
import { messagePage } from "./repository.ts";
import { type FormTokens, isSameOrigin } from "./security.ts";
import { draw, formOf, pullRequestAt, noSuchPage, peopleFormOf, rulesFormOf } from "./drawing.ts";

const MAX_FORM_BYTES = 256 * 1024;
const ACTIONS = [
  "merge",
  "close",
  "reopen",
  "ready",
  "review",
  "check",
  "reply",
  "resolve",
  "unresolve",
] as const;

const Opinion = z.object({
  state: z.enum(["APPROVED", "CHANGES_REQUESTED", "COMMENTED"]),
  words: z.string().max(65_536).default(""),
});
const ThreadForm = z.object({
  thread: z.coerce.number().int().positive(),
  words: z.string().trim().max(65_536).default(""),
});
function said(most: number) {
  const text = z.string().trim().max(most).optional();
  return text.transform((value) => (value === "" ? undefined : value));
}

const CheckForm = z.object({
  name: z.string().trim().min(1).max(100),
  result: z.enum(["pending", "passed", "failed"]),
  // Empty fields say nothing, so that what a running check has said stays.
  summary: said(1000),
  text: said(65_536),
  link: said(2000),
  lines: said(65_536),
});
const PersonForm = z.object({ login: z.string().trim().min(1).max(100), role: z.enum(ROLES) });
const RulesForm = z.object({
  approvals: z.coerce.number().int().min(0).max(6),
  checks: z.string().max(1000).default(""),
  strict: z.string().optional(),
  dismiss: z.string().optional(),
});

type Form = Record<string, unknown>;
/** The effect of a button. If `problem` is null, it worked. `words` are shown in the form again. */
type Done = { problem: string | null; at?: string; words?: string };

/**
 * Adds the routes of the forms. Each form has its own token, and only this server's pages may send
 * it.
 */
export function addActionRoutes(pages: Hono, host: Host, formTokens: FormTokens): void {
  const limit = bodyLimit({ maxSize: MAX_FORM_BYTES });
  const isGenuine = (raw: Request, form: string, token: unknown) =>
    isSameOrigin(raw.headers, new URL(raw.url).origin) && formTokens.isValid(form, token);

  for (const action of ACTIONS) {
    pages.post(`/:owner/:repo/pull/:number{[0-9]+}/${action}`, limit, async (context) => {
      const found = pullRequestAt(context, host);
      if (!found) return noSuchPage(context);
      const { pullRequests, pullRequest } = found;
      const { number } = pullRequest;
      const form: Form = await context.req.parseBody();
      if (!isGenuine(context.req.raw, formOf(pullRequests.repository, number, action), form["token"])) {
        return context.html(NOT_DONE, 403);
      }
      const { problem, at = "", words } = await act(host, pullRequests, pullRequest, action, form);
      const path = `/${pullRequests.repository.fullName}/pull/${number}`;
      if (problem === null) return context.redirect(path + at, 303);
      return context.html(await draw(host, pullRequests, number, formTokens, { problem, words }), 409);
    });
  }

  pages.post("/:owner/:repo/people", limit, async (context) => {
    const pullRequests = host.find(context.req.param("owner"), context.req.param("repo"));
    if (!pullRequests) return noSuchPage(context);
    const { repository } = pullRequests;
    const form: Form = await context.req.parseBody();
    const { data: person } = PersonForm.safeParse(form);
    if (!isGenuine(context.req.raw, peopleFormOf(repository), form["token"]) || person === undefined) {
      return context.html(NOT_DONE, 403);
    }
    host.rules.roles.set(person.login, person.role);
    return context.redirect(`/${repository.fullName}/rules#people`, 303);
  });

  pages.post("/:owner/:repo/rules", limit, async (context) => {
    const pullRequests = host.find(context.req.param("owner"), context.req.param("repo"));
    if (!pullRequests) return noSuchPage(context);
    const { repository, records } = pullRequests;
    const form: Form = await context.req.parseBody();
    const { data: rules } = RulesForm.safeParse(form);
    if (!isGenuine(context.req.raw, rulesFormOf(repository), form["token"]) || rules === undefined) {
      return context.html(NOT_DONE, 403);
    }
    const names = rules.checks.split(",").map((name) => name.trim());
    await records.saveProtection(await repository.defaultBranch(), {
      approvals: rules.approvals,
      requiredChecks: [...new Set(names)].filter((name) => name !== ""),
      isStrict: rules.strict !== undefined,
      dismissesStaleReviews: rules.dismiss !== undefined,
    });
    return context.redirect(`/${repository.fullName}/rules?saved`, 303);
  });
}

const NOT_DONE = messagePage(
  "Not done",
  "The form is out of date, or it was not this page that sent it. Go back, reload, and try again.",
);

/** Does what a button says. */
async function act(
  host: Host,
  pullRequests: PullRequests,
  pullRequest: PullRequest,
  action: (typeof ACTIONS)[number],
  form: Form,
): Promise<Done> {
  const { number } = pullRequest;
  const by = host.visitor;
  switch (action) {
    case "close":
      await pullRequests.change(number, { state: "closed" }, by);
      return { problem: null };
    case "ready":
      await pullRequests.change(number, { isDraft: false }, by);
      return { problem: null };
    case "reopen": {
      const { ok } = await pullRequests.change(number, { state: "open" }, by);
      return {
        problem: ok ? null : "Not reopened: its branch is gone, or another pull request has taken it.",
      };
    }
    case "merge":
      return { problem: await merge(pullRequests, pullRequest, by) };
    case "check": {
      const { data: check } = CheckForm.safeParse(form);
      const commits = await pullRequests.commits(pullRequest);
      if (check === undefined || commits === null) return { problem: "The check needs a name." };
      const { lines, ...report } = check;
      const annotations = lines === undefined ? undefined : annotationsIn(lines);
      if (annotations === null) return { problem: "Write each line as docs/page.md:12 what is wrong." };
      await setCheck(host, pullRequests, { ...report, annotations, sha: commits.head }, by);
      return { problem: null, at: "#checks" };
    }
    case "reply":
    case "resolve":
    case "unresolve": {
      const { data: asked } = ThreadForm.safeParse(form);
      if (asked === undefined || (action === "reply" && asked.words === "")) {
        return { problem: "The reply has no words." };
      }
      const { thread, words } = asked;
      if (action === "reply") await pullRequests.reply(number, thread, by, words);
      else await pullRequests.resolve(number, thread, action === "resolve" ? by : null);
      return { problem: null, at: `#discussion_r${thread}` };
    }
    case "review": {
      const { data: opinion } = Opinion.safeParse(form);
      if (opinion === undefined) return { problem: "The review has no state, or is too long." };
      const { state, words } = opinion;
      const comments = lineCommentsIn(form);
      if (comments === null) return { problem: "Choose a line for each comment on a line.", words };
      if (state === "COMMENTED" && words.trim() !== "" && comments.length === 0) {
        await pullRequests.comment(number, by, words);
        return { problem: null, at: "#conversation" };
      }
      const given = await pullRequests.review(number, { author: by, state, body: words, comments });
      if (given.ok) return { problem: null, at: "#conversation" };
      if (given.refusal.kind === "no-such-line") {
        return { problem: "One of the lines has changed. Choose it again.", words };
      }
      return { problem: "Say what should change, in the field for your review.", words };
    }
  }
}

/**
 * Reads what a check says of lines: `path:line message`, each on a line. Null if one is otherwise.
 */
function annotationsIn(lines: string): { path: string; startLine: number; message: string }[] | null {
  const found = lines
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => /^(\S+):([1-9]\d{0,5}) (.+)$/.exec(line.trim()));
  return found.every((match) => match !== null)
    ? found.map(([, path = "", line = "", message = ""]) => ({ path, startLine: Number(line), message }))
    : null;
}

/** Merges a pull request. Resolves to the reason if that isn't possible, otherwise null. */
async function merge(
  pullRequests: PullRequests,
  { number, base }: PullRequest,
  by: string,
): Promise<string | null> {
  const merged = await pullRequests.merge(number, { method: "merge", by });
  if (merged.ok) return null;
  switch (merged.refusal.kind) {
    case "conflict":
      return `Not merged: it conflicts with ${base} in ${merged.refusal.paths.join(", ")}.`;
    case "rules":
      return `Not merged. ${merged.refusal.why.join(" ")}`;
    case "not-open":
      return "Not merged: it is no longer open, or its branch is gone.";
    default:
      return `Not merged: ${base} was changed at the same moment. Try again.`;
  }
}
