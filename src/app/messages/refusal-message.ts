import type { Refusal } from "../rules/ports/notifier.ts";
import { askOnlyText } from "../rules/words/outcome-text.ts";
import { counted, cut, grouped, listed, upToMinute, utcTimeOfDay } from "../../shared/text/text.ts";
import {
  NAME_MAX,
  NAMES_MAX,
  paragraph,
  plainSection,
  quoteText,
  type Rendered,
  TYPED_MAX,
  type View,
} from "./blocks.ts";
import { cutEscaped, timeOfDay } from "./mrkdwn.ts";

/** Why a request was refused, and what to do. */
export function refusalMessage(refusal: Refusal, { contact }: Pick<View, "contact">): Rendered {
  if (refusal.kind === "too-many") return paragraph(tooManyText(refusal, timeOfDay));
  if (refusal.kind === "uncheckable") return paragraph(uncheckableText(contact));
  if (refusal.kind === "other-channel") return paragraph(otherChannelText(refusal, contact));
  if (refusal.kind === "not-in-group") return paragraph(notInGroupText(contact));
  if (refusal.kind === "access-unchecked") return paragraph(accessUncheckedText(contact));
  if (refusal.kind === "ask-only") return paragraph(`Sorry, ${askOnlyText(contact)}`);
  const text = refusalText(refusal);
  const typed = refusal.kind === "too-long" ? (refusal.typed ?? "") : "";
  return {
    text: cutEscaped(text, 3000),
    // The person can't see their words anywhere else.
    blocks: [plainSection(text), ...(typed === "" ? [] : [quoteText(cut(typed, TYPED_MAX))])],
  };
}

/** The refusal as plain text, for a field of a form, where a contact can't be mentioned. */
export function refusalText(refusal: Refusal): string {
  switch (refusal.kind) {
    case "too-long": {
      const { length, limit } = refusal;
      return `That's ${grouped(length)} characters; the limit is ${grouped(limit)}. Shorten it and resend.`;
    }
    case "unknown-project": {
      const name = cut(refusal.name, NAME_MAX);
      if (refusal.known.length === 1) return `There's only one project. Leave out “project=${name}”.`;
      return (
        `There's no project “${name}”. Choose from: ` +
        `${fittingNames(refusal.known.map((known) => cut(known, NAME_MAX)))}.`
      );
    }
    case "too-many":
      return tooManyText(refusal, utcTimeOfDay);
    case "guest":
      return "Sorry, only members of this workspace can use Docs Agent. Your message stays in Slack.";
    case "unchecked":
      return "I can't check right now whether you're a member of this workspace. Try again in a minute.";
    case "uncheckable":
      return uncheckableText(ADMIN);
    case "other-channel":
      return refusal.isDirect
        ? `Sorry, I take direct messages only from people in certain channels. Contact ${ADMIN}.`
        : `Sorry, I don't take requests in this channel. To have it added, contact ${ADMIN}.`;
    case "not-in-group":
      return notInGroupText(ADMIN);
    case "access-unchecked":
      return accessUncheckedText(ADMIN);
    case "ask-only":
      return `Sorry, ${askOnlyText(ADMIN)}`;
  }
}

/** Where a text can't mention a contact. */
const ADMIN = "your Docs Agent admin";

/** The most channels that a refusal names. */
const CHANNELS_MAX = 5;

function otherChannelText(
  { isDirect, channels }: Extract<Refusal, { kind: "other-channel" }>,
  contact: string,
): string {
  const named = listed(
    channels.map((id) => `<#${id}>`),
    CHANNELS_MAX,
  );
  if (channels.length === 1) {
    return isDirect
      ? `Sorry, I take direct messages only from people in ${named}. Join it, or contact ${contact}.`
      : `Sorry, I only take requests in ${named}. To have this channel added, contact ${contact}.`;
  }
  return isDirect
    ? `Sorry, I take direct messages only from people in these channels: ${named}. Join one of them, ` +
        `or contact ${contact}.`
    : `Sorry, I only take requests in these channels: ${named}. To have this one added, contact ${contact}.`;
}

function notInGroupText(contact: string): string {
  return (
    "Sorry, you aren't in a group that may use Docs Agent. Your message stays in Slack. If you need it, " +
    `contact ${contact}.`
  );
}

function accessUncheckedText(contact: string): string {
  return (
    "I couldn't check whether you may use Docs Agent here. Try again in a minute. If it keeps happening, " +
    `contact ${contact}.`
  );
}

function uncheckableText(contact: string): string {
  return (
    "I can't check who is a member of this workspace, so I can't take requests. Your message " +
    `stays in Slack. Contact ${contact}.`
  );
}

function tooManyText(
  { scope, limit, againAtMs }: Extract<Refusal, { kind: "too-many" }>,
  timeOf: (epochMs: number) => string,
): string {
  const who = scope === "person" ? "You've" : "This channel has";
  const again = timeOf(upToMinute(againAtMs));
  return `${who} reached the limit of ${counted(limit, "request")} an hour. Try again at ${again}.`;
}

/** The names that fit, and the number of those that don't. */
export function fittingNames(names: string[]): string {
  const shown: string[] = [];
  let length = 0;
  for (const name of names) {
    length += name.length + ", ".length;
    if (length > NAMES_MAX) break;
    shown.push(name);
  }
  const more = names.length - shown.length;
  return more === 0 ? shown.join(", ") : `${shown.join(", ")} and ${grouped(more)} more`;
}
