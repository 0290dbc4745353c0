/**
 * What no change of documentation may bring, by the names that `off` takes. docs/quality.md
 * describes each.
 */
export const HYGIENE_RULES = [
  "conflict-markers",
  "tool-marks",
  "chat-talk",
  "rest-unchanged",
  "placeholder",
  "sandbox-path",
  "quoted-name",
  "comment",
  "script",
  "control-character",
  "encoding",
  "front-matter",
  "lost-page",
  "open-fence",
  "open-container",
  "open-tag",
  "open-mark",
  "block-mark",
  "heading-jump",
  "blank-line",
  "table",
  "undefined-reference",
  "shell-letters",
  "paragraph-twice",
  "section-twice",
] as const;

/** The name of one of {@link HYGIENE_RULES}. */
export type HygieneRule = (typeof HYGIENE_RULES)[number];

/** The check that every turn has. */
export const HYGIENE = "hygiene";
