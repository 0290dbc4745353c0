import type { Redact } from "../../base/redaction.ts";
import { hasPart, mergedBody } from "./our-parts.ts";
import {
  bodyOf,
  changeTitle,
  checksPart,
  earlierTitles,
  NOTHING_LEFT_TITLE,
  type TurnText,
} from "./pull-request-text.ts";
import { parseTemplate } from "./template.ts";
import { formattedTitle, wholeTitle } from "./title.ts";

/** GitHub's own limit. */
const MAX_BODY_LENGTH = 65_536;

/** The title and text of a new pull request. */
export function newPullRequestText(
  { turn, titleTemplate, template }: { turn: TurnText; titleTemplate: string; template: string | null },
  redact: Redact,
): { title: string; body: string } {
  const title = formattedTitle(titleTemplate, changeTitle(turn, redact));
  if (template === null) return { title, body: bodyOf(turn, redact) };
  const { hasChecks, filled } = parseTemplate(template);
  const body = filled(bodyOf(turn, redact, hasChecks), checksPart(turn, redact));
  return { title, body: body.length <= MAX_BODY_LENGTH ? body : bodyOf(turn, redact) };
}

/**
 * What to change in the text of a pull request. `body` is null if there is no room for it, and
 * `title` if people wrote it.
 */
export function changedPullRequestText(
  {
    turn,
    titleTemplate,
    found,
  }: { turn: TurnText; titleTemplate: string; found: { title: string; body: string | null } },
  redact: Redact,
): { title: string | null; body: string | null } {
  const parts = {
    main: bodyOf(turn, redact, hasPart(found.body, "checks")),
    checks: checksPart(turn, redact),
  };
  const isOurTitle = titlesBefore(turn, redact).some(
    (before) => found.title === formattedTitle(titleTemplate, before),
  );
  const body = mergedBody(found.body, parts);
  return {
    title: isOurTitle ? formattedTitle(titleTemplate, changeTitle(turn, redact)) : null,
    body: body.length <= MAX_BODY_LENGTH ? body : null,
  };
}

/**
 * The titles that we may have given it: for the earlier turns that are in the branch, for none, and
 * for all since any of them. Somebody may have taken some out, and of those before a merge, or
 * before a turn that took everything back, it told nothing.
 */
function titlesBefore(turn: TurnText, redact: Redact): string[] {
  const { number, earlierTurns } = turn;
  const published = earlierTurns.flatMap(({ outcome }, at) =>
    outcome === "pull-request" ? [number - earlierTurns.length + at] : [],
  );
  const change = { pages: [], undone: [], turns: new Set(published), nothingLeft: null };
  const all = earlierTitles({ ...turn, change }, redact);
  const groups = [earlierTitles(turn, redact), ...all.map((_, at) => all.slice(at))];
  const titles = groups.filter(({ length }) => length > 0).map((group) => wholeTitle(group));
  return [...titles, NOTHING_LEFT_TITLE];
}
