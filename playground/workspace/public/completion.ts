import type { PageState } from "../page-protocol.ts";

/** A suggestion of the composer for the text at the cursor. */
export type Suggestion = { insert: string; label: string; hint: string };

/** Suggestions, and the place in the text where the completed part begins. */
export type Offer = { from: number; suggestions: Suggestion[] };

const MAX_SUGGESTIONS = 8;

/** Returns suggestions for the text before the cursor, or null. */
export function suggestionsAt(text: string, cursor: number, state: PageState): Offer | null {
  const before = text.slice(0, cursor);
  const command = /^\/\S*$/.exec(before);
  if (command !== null) return offer(0, commandsOf(state), command[0]);
  const typed = /(?:^|[\s(])([@#][\p{L}\p{N}._-]*)$/u.exec(before)?.[1];
  if (typed === undefined) return null;
  return offer(cursor - typed.length, typed.startsWith("@") ? peopleOf(state) : channelsOf(state), typed);
}

function offer(from: number, all: readonly Suggestion[], typed: string): Offer | null {
  const wanted = typed.toLowerCase();
  const suggestions = all.filter(({ insert, hint }) => {
    const isNamed = insert.toLowerCase().startsWith(wanted);
    return isNamed || (wanted.startsWith("@") && hint.toLowerCase().startsWith(wanted.slice(1)));
  });
  return suggestions.length === 0 ? null : { from, suggestions: suggestions.slice(0, MAX_SUGGESTIONS) };
}

function commandsOf({ surface, bot }: PageState): Suggestion[] {
  const own = [
    { insert: "/invite", label: `/invite @${bot.name}`, hint: "Add somebody to this channel" },
    { insert: "/remove", label: `/remove @${bot.name}`, hint: "Remove somebody from this channel" },
  ];
  const commands = surface.commands.map(({ command, description, usageHint }) => ({
    insert: command,
    label: `${command} ${usageHint}`,
    hint: `${description} · ${surface.appName}`,
  }));
  return [...commands, ...own];
}

function peopleOf({ people, bot, surface }: PageState): Suggestion[] {
  return [
    { insert: `@${bot.name}`, label: `@${bot.name}`, hint: `${surface.appName}, the app` },
    ...people.map(({ name, realName }) => ({ insert: `@${name}`, label: `@${name}`, hint: realName })),
    { insert: "@here", label: "@here", hint: "Everybody who is active in this channel" },
    { insert: "@channel", label: "@channel", hint: "Everybody in this channel" },
  ];
}

function channelsOf({ channels }: PageState): Suggestion[] {
  return channels
    .filter(({ kind }) => kind === "public")
    .map(({ name }) => ({ insert: `#${name}`, label: `#${name}`, hint: "Channel" }));
}

/** Returns the usage hint of the command that is being typed, or null. */
export function usageOf(text: string, { surface }: PageState): string | null {
  const command = /^(\/\S+)(?:\s|$)/.exec(text)?.[1];
  const found = surface.commands.find((each) => each.command === command);
  return found === undefined || found.usageHint === "" ? null : `${found.command} ${found.usageHint}`;
}
