/**
 * The comments by which a page turns a tool off, or teaches it to accept something, by what a
 * command that runs the tool mentions. A page that brings one hides what the tool would say.
 */
const SWITCHES: readonly { tool: RegExp; switches: RegExp }[] = [
  // https://github.com/DavidAnson/markdownlint#configuration; rumdl takes these, too
  {
    tool: /markdownlint|rumdl|\bmdl\b/i,
    switches: /<!--\s*(?:markdownlint|rumdl)-(?:disable|configure|capture|restore)/i,
  },
  // https://vale.sh/docs/formats/markdown#comments
  {
    tool: /\bvale\b/i,
    switches: /(?:<!--|\{?\/\*|\.\.|\/\/|#|%)\s*vale\s+(?:off\b|\S{1,200}\s*=)/i,
  },
  // https://github.com/textlint/textlint-filter-rule-comments
  { tool: /textlint/i, switches: /\btextlint-disable/i },
  // https://prettier.io/docs/ignore
  { tool: /prettier/i, switches: /\bprettier-ignore/i },
  // https://cspell.org/docs/Configuration/document-settings
  {
    tool: /cspell|spell-?check/i,
    switches: /\b(?:c?spell|spell-?checker)\s*::?\s*(?:disable|ignore|words?\b|dictionar|enable-?only)/i,
  },
  // https://github.com/remarkjs/remark-message-control
  {
    tool: /remark/i,
    switches: /(?:<!--|\{\/\*)\s*(?:lint|remark-lint|validate-links|remark-\S{1,60})\s+(?:disable|ignore)/i,
  },
  { tool: /\balex\b/i, switches: /(?:<!--|\{\/\*)\s*alex\s+(?:disable|ignore)/i },
  { tool: /write-?good/i, switches: /\bwrite-?good[- ](?:disable|ignore|off)/i },
  { tool: /proselint/i, switches: /\bproselint:\s*disable/i },
  { tool: /eslint/i, switches: /\beslint-disable/i },
  { tool: /biome/i, switches: /\bbiome-ignore/i },
  { tool: /dprint/i, switches: /\bdprint-ignore/i },
  { tool: /mdformat/i, switches: /<!--\s*mdformat\s+off/i },
  { tool: /pymarkdown/i, switches: /<!---?\s*pyml\s+disable/i },
  { tool: /markdown-link-check/i, switches: /\bmarkdown-link-check-disable/i },
  { tool: /codespell/i, switches: /\bcodespell:\s*ignore/i },
  { tool: /\btypos\b/i, switches: /\b(?:spellchecker|typos):\s*(?:disable|ignore|off)/i },
  { tool: /ltex/i, switches: /\bltex:\s*\S{1,60}\s*=/i },
  { tool: /html-?validate/i, switches: /\[html-validate-disable/i },
  { tool: /htmlhint/i, switches: /<!--\s*htmlhint\b/i },
  { tool: /rstcheck/i, switches: /\brstcheck:\s*ignore/i },
  { tool: /doc8|sphinx-lint/i, switches: /\b(?:doc8|sphinx-lint):\s*(?:ignore|disable)/i },
];

/** What switches off the tools that a check runs, as its name and its command mention them. */
export function switchesOf({ name, command }: { name: string; command: readonly string[] }): RegExp[] {
  const words = [name, ...command].join(" ");
  return SWITCHES.filter(({ tool }) => tool.test(words)).map(({ switches }) => switches);
}
