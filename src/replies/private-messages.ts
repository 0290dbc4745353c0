import type { Refusal } from "../core/notifier.ts";
import { cut } from "../core/text.ts";
import { IGNORE_REPLY, SEND_REPLY, replyValue } from "./actions.ts";
import { placeName } from "./away-text.ts";
import { labelled, plainSection, section } from "./blocks.ts";
import type { Rendered } from "./blocks.ts";
import { NAMES_MAX, NAME_MAX } from "./limits.ts";
import { cutEscaped, timeOfDay, utcTimeOfDay } from "./mrkdwn.ts";

/** What a person can ask for and how. */
export function helpMessage(projects: string[]): Rendered {
  const several = projects.length > 1;
  const names = projects.map((name) => `\`${cutEscaped(name, NAME_MAX)}\``);
  const lines = [
    "*Docs Agent turns “these docs are wrong” into a pull request.*",
    "• `/docs-agent fix the install command on the quickstart page` — say what to change; the result arrives in a thread here.",
    "• `/docs-agent` alone — opens a form.",
    "• *Fix these docs*, in the menu of any message — for the message that shows the problem.",
    "• Mention me with what to change, in a channel or a thread that I am in. In a request's thread that follows it up; `new …` starts a separate one.",
    ...(several
      ? [
          `• \`project=${cutEscaped(projects[1] ?? "", NAME_MAX)}\` in front picks a project. Known: ${listOf(names)}; the first is the default.`,
        ]
      : []),
  ];
  return { text: "How to ask Docs Agent for a change to the docs", blocks: [section(lines.join("\n"))] };
}

/** Whether a reply in a thread is for the agent. */
export function askMessage(replyId: string): Rendered {
  const text = "Is this for the agent?";
  const value = replyValue(replyId);
  return {
    text,
    blocks: [
      section(text),
      {
        type: "actions",
        elements: [
          { ...labelled(SEND_REPLY, "Send it"), value, style: "primary" },
          { ...labelled(IGNORE_REPLY, "Ignore"), value },
        ],
      },
    ],
  };
}

/** Why a request was not taken and what to do. */
export function refusalMessage(refusal: Refusal): Rendered {
  if (refusal.kind === "too-many") {
    const own = tooManyText(refusal, timeOfDay);
    return { text: own, blocks: [section(own)] };
  }
  const text = refusalText(refusal);
  return { text: cutEscaped(text, 3000), blocks: [plainSection(text)] };
}

/** The same as plain text, for a field of a form. */
export function refusalText(refusal: Refusal): string {
  switch (refusal.kind) {
    case "too-long": {
      const { length, limit } = refusal;
      return `That is too long: ${count(length)} characters, and the limit is ${count(limit)}. Nothing was started. Shorten it, or link to the long part.`;
    }
    case "unknown-project": {
      const known = listOf(refusal.known.map((name) => cut(name, NAME_MAX)));
      return `There is no project “${cut(refusal.name, NAME_MAX)}” here. Nothing was started. Known projects: ${known}.`;
    }
    case "too-many":
      return tooManyText(refusal, utcTimeOfDay);
  }
}

const MINUTE_MS = 60_000;

function tooManyText(
  { scope, limit, againAtMs }: Extract<Refusal, { kind: "too-many" }>,
  timeOf: (epochMs: number) => string,
): string {
  const who = scope === "person" ? "You've" : "This channel has";
  const requests = limit === 1 ? "1 request" : `${count(limit)} requests`;
  // Times are shown to the minute: the one that is named must not be too early.
  const at = Math.ceil(againAtMs / MINUTE_MS) * MINUTE_MS;
  return `${who} reached the limit of ${requests} an hour. Try again at ${timeOf(at)}.`;
}

/** The request is safe, and there is nothing to see of it yet. */
export function keptMessage(): Rendered {
  const text = "Got it. Your request is saved, but Slack won't let me post yet. No need to resend.";
  return { text, blocks: [section(text)] };
}

/** The app could not keep the request: nothing was started. */
export function notKeptMessage(): Rendered {
  const text =
    "I could not store your request, so nothing was started. Try again in a minute; if this stays, tell whoever runs Docs Agent.";
  return { text, blocks: [section(text)] };
}

/** The app can't tell whether it kept the request. */
export function maybeKeptMessage(): Rendered {
  const text =
    "I can't tell whether your request was stored. If nothing about it shows up within a minute, ask again; if this stays, tell whoever runs Docs Agent.";
  return { text, blocks: [section(text)] };
}

/** The form could not be opened. */
export function formNotOpenedMessage(): Rendered {
  const text =
    "The form could not be opened, so nothing was started. Try again, or type what should change after `/docs-agent`.";
  return { text, blocks: [section(text)] };
}

/** How to get the app into a channel that it cannot post in. */
export function inviteMeMessage(channelId: string, error: string, botName: string): Rendered {
  const text =
    (error === "not_in_channel" || error === "channel_not_found") && !channelId.startsWith("D")
      ? `I am not in this channel, so I cannot post here. Your request goes on, and I report to you in a direct message. To have me report here next time, type \`/invite @${cutEscaped(botName, NAME_MAX)}\`.`
      : "I cannot post here. Your request goes on, and I report to you in a direct message.";
  return { text, blocks: [section(text)] };
}

/** The app gave up on a part of a request. */
export function gaveUpMessage(taskType: string, taskId: string, channelId: string): Rendered {
  const text = `⚠️ ${gaveUpText(taskType, placeName(channelId))}`;
  return {
    text,
    blocks: [
      section(text),
      plainSection(`For whoever runs Docs Agent: ${cut(taskId, 200)} was given up; the log says why.`),
    ],
  };
}

function gaveUpText(taskType: string, where: string): string {
  switch (taskType) {
    case "open":
      return `Something went wrong on my side with your request in ${where}, and nothing was started. Ask again.`;
    case "deliver":
      return `A job you asked for in ${where} has ended, but I could not post its result. Look for a new pull request in the repository.`;
    default:
      return `I lost track of a request of yours in ${where}. Its job may be running or done: look for a new pull request in the repository before you ask again.`;
  }
}

/** As many names as there is room for, and how many more there are. */
function listOf(names: string[]): string {
  const shown: string[] = [];
  let length = 0;
  for (const name of names) {
    length += name.length + ", ".length;
    if (length > NAMES_MAX) break;
    shown.push(name);
  }
  const more = names.length - shown.length;
  return more === 0 ? shown.join(", ") : `${shown.join(", ")} and ${count(more)} more`;
}

function count(n: number): string {
  return n.toLocaleString("en-US");
}
