import type { HygieneRule } from "../../../../src/service/config/hygiene-rules.ts";
import { type HygieneFinding, hygieneFindings } from "../../../../src/service/runner/hygiene/hygiene.ts";

/** A page that has most things that pages have, and nothing that hygiene finds. */
export const GOOD_PAGE = `---
title: Retries
---

# Retries

A request is **tried again** three times, as [the settings](settings.md) say, with \`retries\`.

## Settings

Set these in your file:

- \`retries\`: how often
- \`pause\`: how long

| name | default |
|---|---|
| retries | 3 |
| pause | 10 s |

\`\`\`yaml
retries: 3
\`\`\`

<details>
<summary>More</summary>

It waits longer each time, so that a server has time to recover from its load.

</details>
`;

type Asked = {
  path?: string;
  before?: string | null;
  words?: string;
  quotedNames?: string[];
  off?: HygieneRule[];
};

/** What hygiene finds on a page that was changed, or is new if `before` is null. */
export function findingsOf(after: string, asked: Asked = {}): HygieneFinding[] {
  const { path = "docs/retries.md", before = GOOD_PAGE, words = "", quotedNames = [], off = [] } = asked;
  const page = { path, before: before === null ? null : Buffer.from(before), after: Buffer.from(after) };
  return hygieneFindings({ pages: [page], facts: { words, quotedNames }, off });
}

/** The names of the rules that find something. */
export function rulesOf(...asked: Parameters<typeof findingsOf>): HygieneRule[] {
  return [...new Set(findingsOf(...asked).map(({ rule }) => rule))];
}
