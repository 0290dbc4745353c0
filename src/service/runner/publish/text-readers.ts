import type { Redact } from "../../base/redaction.ts";
import { hasPart, mergedBody, saysOurTitle } from "./our-parts.ts";
import {
  bodyOf,
  changeTitle,
  checksPart,
  NOTHING_LEFT_TITLE,
  recordedPages,
  type TurnText,
} from "./pull-request-text.ts";
import type { PullRequestPage } from "../../../shared/contract/pull-request.ts";
import { parseTemplate } from "./template.ts";
import { formattedTitle, titleOf } from "./title.ts";

/** GitHub's own limit. */
const MAX_BODY_LENGTH = 65_536;

/** The title and text of a new pull request, and its pages for the job's record. */
export function newPullRequestText(
  { turn, titleTemplate, template }: { turn: TurnText; titleTemplate: string; template: string | null },
  redact: Redact,
): { title: string; body: string; pages: PullRequestPage[] } {
  const title = formattedTitle(titleTemplate, changeTitle(turn, redact));
  const pages = recordedPages(turn, redact);
  if (template === null) return { title, body: bodyOf(turn, redact, { title }), pages };
  const { hasChecks, filled } = parseTemplate(template);
  const main = bodyOf(turn, redact, { hasChecksPart: hasChecks, title });
  const body = filled(main, checksPart(turn, redact));
  return { title, body: body.length <= MAX_BODY_LENGTH ? body : bodyOf(turn, redact, { title }), pages };
}

/**
 * What to change in a pull request. `body` is null if there is no room for it, and then nothing
 * changes. `title` is null if people wrote it.
 */
export function changedPullRequestText(
  {
    turn,
    titleTemplate,
    found,
  }: { turn: TurnText; titleTemplate: string; found: { title: string; body: string | null } },
  redact: Redact,
): { title: string | null; body: string | null; pages: PullRequestPage[] } {
  const isOurTitle =
    saysOurTitle(found.body, found.title) ??
    titlesBefore(turn, redact).some((before) => found.title === formattedTitle(titleTemplate, before));
  const title = isOurTitle ? formattedTitle(titleTemplate, changeTitle(turn, redact)) : null;
  const body = mergedBody(found.body, {
    main: bodyOf(turn, redact, { hasChecksPart: hasPart(found.body, "checks"), title }),
    checks: checksPart(turn, redact),
  });
  const pages = recordedPages(turn, redact);
  return body.length <= MAX_BODY_LENGTH ? { title, body, pages } : { title: null, body: null, pages };
}

/**
 * Titles that we may have given it where its text doesn't say so, because a person wrote that anew,
 * or an earlier version wrote it.
 */
function titlesBefore({ earlierTurns, jobId }: TurnText, redact: Redact): string[] {
  return [...earlierTurns.map((turn) => titleOf({ ...turn, jobId }, redact)), NOTHING_LEFT_TITLE];
}
