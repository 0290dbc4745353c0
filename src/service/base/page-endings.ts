/** The endings of the names of pages, as documentation is written. */
export const PAGE_ENDINGS: readonly string[] = [
  "md",
  "mdx",
  "markdown",
  "mdoc",
  "qmd",
  "rst",
  "adoc",
  "asciidoc",
];

/** Matches names with one of these endings. `flags` are those of a regular expression. */
export function anyEnding(endings: readonly string[], flags = "i"): RegExp {
  return new RegExp(String.raw`\.(?:${endings.join("|")})$`, flags);
}
