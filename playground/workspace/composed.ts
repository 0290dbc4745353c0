import type { TypedPart, Workspace } from "../../world/slack/index.ts";

/** The message or command that Slack's composer makes from typed text. */
export type Composed =
  | { kind: "command"; command: string; text: string }
  | { kind: "message"; parts: TypedPart[] };

/**
 * Reads typed text as in Slack: a slash at the start makes a command, and a space before the slash
 * makes it a message.
 */
export function readComposed(typed: string, workspace: Workspace): Composed {
  const command = /^(\/[^\s/]+)(?:\s+([\s\S]*))?$/.exec(typed);
  if (command?.[1] !== undefined) {
    return { kind: "command", command: command[1].toLowerCase(), text: (command[2] ?? "").trim() };
  }
  return { kind: "message", parts: withPicks(typed.trim(), namesIn(workspace)) };
}

/** Finds the user or bot of this name, with or without `@`. */
export function userNamed(name: string, workspace: Workspace): string | undefined {
  const mark = namesIn(workspace).get(`@${name.replace(/^@/, "").toLowerCase()}`);
  return mark === undefined ? undefined : /^<@(.+)>$/.exec(mark)?.[1];
}

/** Maps each name that the menu offers, in lower case, to the form in which Slack writes it. */
function namesIn(workspace: Workspace): Map<string, string> {
  const names = new Map<string, string>();
  for (const range of ["here", "channel", "everyone"]) names.set(`@${range}`, `<!${range}>`);
  for (const channel of workspace.channels()) {
    if (channel.kind === "public") names.set(`#${channel.name.toLowerCase()}`, `<#${channel.id}>`);
  }
  for (const user of workspace.users()) {
    names.set(`@${user.name.toLowerCase()}`, `<@${user.id}>`);
    names.set(`@${user.display_name.toLowerCase()}`, `<@${user.id}>`);
  }
  return names.set(`@${workspace.bot.name.toLowerCase()}`, `<@${workspace.bot.userId}>`);
}

const CODE = /(```[\s\S]*?```|`[^`\n]+`)/;

/** Turns names that stand alone into picks, except in code. */
function withPicks(text: string, names: Map<string, string>): TypedPart[] {
  const longestFirst = [...names.keys()]
    .toSorted((a, b) => b.length - a.length)
    .map((name) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  const named = new RegExp(
    String.raw`(?<![\p{L}\p{N}_@#/])(${longestFirst.join("|")})(?![\p{L}\p{N}_-])`,
    "giu",
  );
  return text
    .split(CODE)
    .flatMap((part, index) => (index % 2 === 1 ? [part] : picksIn(part, named, names)))
    .filter((part) => part !== "");
}

function picksIn(text: string, named: RegExp, names: Map<string, string>): TypedPart[] {
  return text.split(named).map((part, index) => {
    const pick = index % 2 === 1 ? names.get(part.toLowerCase()) : undefined;
    return pick === undefined ? part : { pick };
  });
}
