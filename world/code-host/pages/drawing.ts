import type { Context } from "hono";
import { changedFiles } from "../changed-files.ts";
import type { Host } from "../host.ts";
import { threadsOf } from "../line-threads.ts";
import type { PullRequests } from "../pull-requests.ts";
import type { Repository } from "../repository.ts";
import type { Html } from "./layout.ts";
import { pullRequestPage } from "./pull-request.ts";
import { messagePage } from "./repository.ts";
import type { FormTokens } from "./security.ts";

/** Draws a pull request's page as it is now, with the problem of a button, if there was one. */
export async function draw(
  host: Host,
  pullRequests: PullRequests,
  number: number,
  formTokens: FormTokens,
  last: { problem?: string | undefined; words?: string | undefined } = {},
): Promise<Html> {
  const { repository, records } = pullRequests;
  const pullRequest = pullRequests.find(number);
  if (!pullRequest) return messagePage("No such page", "There is nothing at this address.");
  const ends = await pullRequests.commits(pullRequest);
  const isOpen = pullRequest.state === "open";
  const [commits, files, diff, conflicts] =
    ends === null
      ? [[], [], "", []]
      : await Promise.all([
          repository.commitsBetween(ends.mergeBase, ends.head),
          changedFiles(repository, ends.mergeBase, ends.head),
          repository.diff(ends.mergeBase, ends.head),
          isOpen ? pullRequests.conflicts(ends) : [],
        ]);
  return pullRequestPage({
    repository,
    pullRequest,
    commits,
    files,
    diff,
    conflicts,
    threads: await threadsOf(pullRequests, pullRequest),
    checks: ends === null ? [] : pullRequests.checks(pullRequest, ends.head),
    protection: records.protection(pullRequest.base),
    rules: ends === null ? [] : pullRequests.rulesAgainst(pullRequest, ends),
    visitor: host.visitor,
    home: host.links().home,
    tokenFor: (action) => formTokens.issue(formOf(repository, number, action)),
    ...last,
  });
}

export function pullRequestAt(context: Context, host: Host) {
  const pullRequests = host.find(context.req.param("owner") ?? "", context.req.param("repo") ?? "");
  const pullRequest = pullRequests?.find(Number(context.req.param("number")));
  return pullRequests && pullRequest ? { pullRequests, pullRequest } : null;
}

/** Returns the name by which a pull request's forms are distinguished. */
export function formOf(repository: Repository, number: number, action: string): string {
  return `${repository.fullName}#${number} ${action}`;
}

export function peopleFormOf(repository: Repository): string {
  return `${repository.fullName} people`;
}

export function rulesFormOf(repository: Repository): string {
  return `${repository.fullName} rules`;
}

export function noSuchPage(context: Context) {
  return context.html(messagePage("No such page", "There is nothing at this address."), 404);
}
