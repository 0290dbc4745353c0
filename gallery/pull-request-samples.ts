import type { ProjectCheck } from "../src/shared/contract/checks.ts";
import type { CheckedClaim } from "../src/service/runner/publish/checked-claim.ts";
import type { Overlap } from "../src/service/runner/publish/overlaps-text.ts";
import type { ChangedPage } from "../src/service/runner/publish/whole-change.ts";

/** One turn: what was asked, what the agent said, and all that the branch changes after it. */
export type SampleTurn = {
  words: string | null;
  /** True if messages in Slack go along. */
  isInSlack?: boolean;
  summary: string;
  pages: ChangedPage[];
  checks?: ProjectCheck[];
  claims?: CheckedClaim[];
  overlaps?: Overlap[];
};

export type PullRequestSample = { name: string; turns: SampleTurn[]; template?: string };

const ITSELF = "I am a small rule-based program, not an AI. Please check what I did.";

function changed(path: string, additions: number, deletions: number): ChangedPage {
  return { path, status: "changed", additions, deletions };
}

function passed(...names: string[]): ProjectCheck[] {
  return names.map((name) => ({ name, result: "passed", findings: [] }));
}

function claim(
  page: string,
  statement: string,
  path: string,
  evidence: CheckedClaim["evidence"],
): CheckedClaim {
  const url = `https://github.com/tidepool/tidepool/blob/4f1c0de/${path}#L12`;
  const source = { repository: "tidepool", path, line: 12, quote: "" };
  const shown = evidence === "code" || evidence === "partial" ? url : null;
  const missing = evidence === "partial" ? ["45"] : [];
  return { page, statement, source, evidence, missing, converted: false, url: shown, isPublic: true };
}

function overlap(number: number, paths: string[], isSameLines: boolean): Overlap {
  const name = `tidepool/docs#${number}`;
  return { url: `https://github.com/tidepool/docs/pull/${number}`, name, paths, morePaths: 0, isSameLines };
}

const QUICKSTART = "docs/quickstart.md";
const FAQ = "docs/faq.md";
const INSTALL = "docs/guides/install.md";

const PARTS = Array.from({ length: 9 }, (_, at) =>
  changed(`docs/reference/part-${at + 1}.md`, at + 2, at + 2),
);

/** A shortcut on a message, without words. */
const SHORTCUT: SampleTurn = {
  words: null,
  isInSlack: true,
  summary: `Correct 3 misspellings, repair 1 link in ${QUICKSTART}

- ${QUICKSTART}: recieve → receive; seperate → separate; teh → the; ./instal.md → ./install.md

${ITSELF}`,
  pages: [changed(QUICKSTART, 4, 4)],
  checks: passed("links"),
};

/** Ten kinds of pull requests. */
export const pullRequestSamples: PullRequestSample[] = [
  {
    name: "a typo",
    turns: [
      {
        words: "fix the typo in the quickstart",
        summary: `Correct 1 misspelling in ${QUICKSTART}\n\n- ${QUICKSTART}: recieve → receive\n\n${ITSELF}`,
        pages: [changed(QUICKSTART, 1, 1)],
        checks: passed("links"),
      },
    ],
  },
  {
    name: "several pages",
    turns: [
      {
        words: "please fix these",
        isInSlack: true,
        summary: `Sure! Here's what I changed:

Name the package tidepool-cli in every install command

The package was renamed in 3.0, and four pages named the old one.

- README.md: the first command
- ${FAQ}: the answer about npm
- ${INSTALL}: all three commands
- ${QUICKSTART}: the first step`,
        pages: [
          changed("README.md", 1, 1),
          changed(FAQ, 2, 2),
          changed(INSTALL, 3, 3),
          changed(QUICKSTART, 1, 1),
        ],
        checks: passed("links", "vale"),
        overlaps: [overlap(12, [FAQ], true), overlap(14, [INSTALL, QUICKSTART], false)],
      },
    ],
  },
  {
    name: "a follow-up on the same page",
    turns: [
      SHORTCUT,
      {
        words: "say “at once” instead of “immediately”",
        summary: `Replace "immediately" with "at once" in ${QUICKSTART}

- ${QUICKSTART}: immediately → at once

${ITSELF}`,
        pages: [changed(QUICKSTART, 5, 5)],
        checks: passed("links"),
      },
    ],
  },
  {
    name: "follow-ups on other pages",
    turns: [
      {
        words: "fix the typos in install",
        summary: `Fix typos in ${INSTALL}\n\n- ${INSTALL}: instal → install, twice`,
        pages: [changed(INSTALL, 2, 2)],
      },
      {
        words: "and the links in the FAQ",
        summary: `Fix links in ${FAQ}\n\nTwo pages had moved.\n\n- ${FAQ}: the links to both guides`,
        pages: [changed(FAQ, 2, 2), changed(INSTALL, 2, 2)],
      },
    ],
  },
  {
    name: "a draft with findings",
    turns: [
      {
        words: "rename “Create a key” to “Make a key”",
        summary: `Rename "Create a key" to "Make a key" in ${QUICKSTART}\n\n- ${QUICKSTART}: the heading`,
        pages: [changed(QUICKSTART, 1, 1)],
        checks: [
          {
            name: "anchors",
            result: "failed",
            findings: ["docs/api/README.md: docs/quickstart.md has no heading #2-create-a-key"],
          },
          ...passed("links"),
        ],
      },
    ],
  },
  {
    name: "not checked",
    turns: [
      {
        words: "explain the retries",
        summary: `Explain when the client asks again

Nothing said so.

- ${FAQ}: a new answer

I couldn't run the tests, because they need a network.`,
        pages: [changed(FAQ, 9, 0)],
        checks: [{ name: "build", result: "not-checked", findings: ["npm ci needs the network"] }],
      },
    ],
  },
  {
    name: "a removal",
    turns: [
      {
        words: "remove the page about the old CLI, it's gone",
        summary: `Remove the page about the old command line

The program was removed in 3.0.

- docs/old-cli.md: removed
- docs.json: its entry`,
        pages: [
          changed("docs.json", 0, 1),
          { path: "docs/old-cli.md", status: "removed", additions: 0, deletions: 84 },
        ],
        checks: passed("links"),
      },
    ],
  },
  {
    name: "a rename in nine pages",
    turns: [
      {
        words: "rename “workspace key” to “team key” everywhere",
        summary: `Rename "workspace key" to "team key" in 9 pages

${PARTS.map(({ path, additions }) => `- ${path}: workspace key → team key (${additions} times)`).join("\n")}

${ITSELF}`,
        pages: PARTS,
        checks: passed("links", "vale"),
      },
    ],
  },
  {
    name: "sources over two turns",
    turns: [
      {
        words: "the timeout is wrong",
        summary: `Correct the default timeout

It has been 30 seconds since 2.4.

- ${FAQ}: 10 → 30 seconds`,
        pages: [changed(FAQ, 1, 1)],
        claims: [claim(FAQ, "A request times out after 30 seconds.", "src/client.ts", "code")],
      },
      {
        words: "and say how often it retries",
        summary: `Say how often the client retries\n\n- ${FAQ}: five times, with growing pauses`,
        pages: [changed(FAQ, 3, 1)],
        claims: [
          claim(FAQ, "It retries five times.", "src/retry.ts", "code"),
          claim(FAQ, "The longest pause is 45 seconds.", "src/retry.ts", "partial"),
          claim(FAQ, "Support can raise it.", "", "request"),
          claim(FAQ, "The pauses grow.", "", "none"),
        ],
      },
    ],
  },
  {
    name: "the repository's template",
    template:
      "## What does this change?\n\n<!-- In two sentences -->\n\n## Testing\n\n" +
      "## Checklist\n\n- [ ] I read the style guide\n",
    turns: [SHORTCUT],
  },
];
