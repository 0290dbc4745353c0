import { readFileSync } from "node:fs";
import { joinedClaims } from "../src/service/runner/publish/checked-claim.ts";
import { commitMessageOf } from "../src/service/runner/publish/commit-message.ts";
import type { TurnText } from "../src/service/runner/publish/pull-request-text.ts";
import { sourcesText } from "../src/service/runner/publish/sources-text.ts";
import { changedPullRequestText, newPullRequestText } from "../src/service/runner/publish/text-readers.ts";
import { markdownHtml } from "../world/code-host/pages/markdown.ts";
import { pullRequestSamples, type PullRequestSample } from "./pull-request-samples.ts";

/** A pull request as the job service writes it, turn by turn. */
export type WrittenPullRequest = { name: string; title: string; body: string; commits: string[] };

const JOB = "job-4f1c5d0e9a7b3c2d1e0f";
const FORMAT = { titleTemplate: "{title}" };
const QUOTE = "\n\nThe rest of this prompt is quoted material from Slack.\n> Somebody's message";
const plain = (text: string) => text;
const stylesheet = new URL("../world/code-host/pages/pages.css", import.meta.url);

/** All samples, written by the functions that write real ones. */
export function writtenPullRequests(): WrittenPullRequest[] {
  return pullRequestSamples.map(written);
}

function written({ name, turns, template }: PullRequestSample): WrittenPullRequest {
  let found: { title: string; body: string } | null = null;
  const commits: string[] = [];
  for (const at of turns.keys()) {
    const turn = turnText(turns.slice(0, at + 1));
    found =
      found === null
        ? newPullRequestText({ ...FORMAT, turn, template: template ?? null }, plain)
        : changedBy(turn, found);
    commits.push(commitMessageOf({ ...FORMAT, ...turn, signedOffBy: null }, plain));
  }
  return { name, title: "", body: "", ...found, commits };
}

function changedBy(turn: TurnText, found: { title: string; body: string }) {
  const { title, body } = changedPullRequestText({ ...FORMAT, turn, found }, plain);
  return { title: title ?? found.title, body: body ?? found.body };
}

/** What the last of these turns is told from. */
function turnText(turns: PullRequestSample["turns"]): TurnText {
  const asked = turns.map(({ words, isInSlack = false, summary }) => ({
    prompt: `${words ?? "Fix the problem this message describes."}${isInSlack ? QUOTE : ""}`,
    words,
    authors: null,
    summary,
    kind: "message" as const,
    outcome: "pull-request" as const,
  }));
  const last = turns.at(-1);
  const own = asked.at(-1);
  const claims = joinedClaims(turns.map((each) => each.claims ?? []));
  const isOurDraft = last?.checks?.some(({ result }) => result === "failed") === true;
  return {
    jobId: JOB,
    number: turns.length,
    kind: "message",
    prompt: own?.prompt ?? "",
    words: own?.words ?? null,
    summary: own?.summary ?? null,
    earlierTurns: asked.slice(0, -1),
    leftOut: [],
    change: {
      pages: last?.pages ?? [],
      undone: [],
      turns: new Set(turns.map((_, at) => at + 1)),
      nothingLeft: null,
    },
    credit: null,
    checks: last?.checks ?? [],
    sources: sourcesText({ claims, isPublicPullRequest: true }),
    overlaps: last?.overlaps ?? [],
    caution: isOurDraft ? "This is a draft because a check found something new." : null,
    isOurDraft,
  };
}

/** One HTML file with all of them, drawn as the playground's code host draws them. */
export function pullRequestsPage(pulls: readonly WrittenPullRequest[]): string {
  const articles = pulls.map(
    ({ name, title, body, commits }) => `<article>
<p><small>${escaped(name)}</small></p>
<h2>${escaped(title)}</h2>
<div class="body">${markdownHtml(body)}</div>
<details><summary>Commits</summary>
${commits.map((each) => `<pre>${escaped(each)}</pre>`).join("\n")}
</details>
</article>`,
  );
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>Ten kinds of pull requests</title>
    <style>${readFileSync(stylesheet, "utf8")}
article { border-top: 1px solid; margin-top: 2rem; } pre { overflow: auto; }</style>
  </head>
  <body><main><h1>Ten kinds of pull requests</h1>
${articles.join("\n")}
</main></body>
</html>
`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
