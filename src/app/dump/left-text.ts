import { commandOf } from "../../shared/machine/this-copy.ts";
import { counted, plainLine } from "../../shared/text/text.ts";
import type { LeftOfPerson } from "./find-person.ts";

const LINE_MAX = 300;

/** What there is of a person, and what stays elsewhere when it goes, as text for a terminal. */
export function leftText(userId: string, { turns, quotedIn, jobIds, posts, atHost }: LeftOfPerson): string {
  const quoted = quotedIn === 0 ? "" : `, and what they wrote in ${counted(quotedIn, "turn")} of others`;
  const ids = jobIds.size === 0 ? "" : `: ${[...jobIds].toSorted().join(", ")}`;
  const all = [...posts.values()].reduce((sum, count) => sum + count, 0);
  const threads = [...posts].map(
    ([thread, count]) => `  /archives/${thread}: ${counted(count, "message")}\n`,
  );
  const pages = [...atHost].toSorted().map((page) => `  ${plainLine(page, LINE_MAX)}\n`);
  return [
    `Forgetting what ${userId} asked in ${counted(turns, "turn")}${quoted}: words, names and files.\n`,
    `${counted(jobIds.size, "job")}, which take no more messages${ids}\n\n`,
    "What stays elsewhere, and has to be removed there:\n",
    "- In Slack: the person's messages, and those of Docs Agent that name or quote them.\n",
    ...(all === 0
      ? []
      : [
          `  ${counted(all, "message")} in ${counted(posts.size, "thread")}. ` +
            "Put your workspace's address before these:\n",
          ...threads,
        ]),
    `- At the job service: run ${commandOf("service", `forget ${userId}`)} there, if it is yours.\n`,
    ...(pages.length === 0 ? [] : ["- At the code host: texts, comments and commits that may name them.\n"]),
    ...pages,
    "- In logs, in dumps and backups of the store, and in Redis's files until it rewrites them.\n",
  ].join("");
}
