import { basename } from "node:path";

/** Where presets look for the tools that an operator installs for them. */
const CHECKS_FOLDER = "/opt/docs-checks";
/** The `node` on the `PATH` may be too old for a tool, which then fails on every page. */
const NODE = process.execPath;

/**
 * How a tool shows that it ran, as plain data. A tool that can't run often ends like one that found
 * something. Texts are regular expressions for one line.
 */
type Proof = {
  /** The exit codes that mean findings. */
  findingsAt: readonly number[];
  /** A line that it prints when it has looked at everything. */
  closing: string;
  /** True if it closes each run like that. Otherwise, exit code 0 is enough. */
  isAlwaysClosed: boolean;
  /** A line with something that it found, for a command that prints no closing line. */
  finding: string;
  /** A line about how it is getting on. */
  chatter?: string;
};

/** How a tool is told which pages to look at. Those that look at the whole site have none. */
type PageArguments = {
  /** The command's last arguments, by which it looks at everything. */
  whole: readonly string[];
  /** What comes before the paths. */
  before: readonly string[];
  /** What each path begins with. */
  prefix: string;
  /**
   * The endings of the pages that it reads, which must be there. Null if it takes each changed
   * path, also of what is gone.
   */
  endings: readonly string[] | null;
};

/**
 * A check that settings can choose by name, without a command. `programs` are the names of its
 * tool's files. `install` says how to install it.
 */
export type CheckPreset = {
  settings: {
    command: readonly string[];
    readable?: readonly string[];
    mounts?: readonly { from: string; at: string }[];
    timeoutSeconds?: number;
  };
  programs: readonly string[];
  proof: Proof;
  pages?: PageArguments;
  install: string;
};

const INSTALL = `copy deploy/docs-checks to ${CHECKS_FOLDER}, and run npm install there`;
const MARKDOWN = ["**/*.md", "**/*.mdx", "#**/node_modules"];

const PRESETS: Readonly<Record<string, CheckPreset>> = {
  markdownlint: {
    settings: {
      command: [
        NODE,
        `${CHECKS_FOLDER}/markdownlint.mjs`,
        "--no-globs",
        "--config",
        `${CHECKS_FOLDER}/.markdownlint-cli2.jsonc`,
        ...MARKDOWN,
      ],
      readable: [CHECKS_FOLDER],
    },
    programs: ["markdownlint.mjs", "markdownlint-cli2", "markdownlint-cli2-bin.mjs"],
    // https://github.com/DavidAnson/markdownlint-cli2#exit-codes
    proof: {
      findingsAt: [1],
      closing: String.raw`^Summary: \d+ error`,
      isAlwaysClosed: false,
      finding: String.raw`^.+:\d+(?::\d+)? (?:(?:error|warning) \S|[A-Z]+\d+/)`,
      chatter: String.raw`^(?:markdownlint-cli2 v\d|Finding: |Linting: \d+ file)`,
    },
    pages: { whole: MARKDOWN, before: [], prefix: ":", endings: [".md", ".mdx"] },
    install: INSTALL,
  },
  links: {
    settings: { command: [NODE, `${CHECKS_FOLDER}/links.mjs`, "--proof"], readable: [CHECKS_FOLDER] },
    programs: ["links.mjs"],
    proof: {
      findingsAt: [1],
      closing: String.raw`^links: \d+ of \d+ pages? read$`,
      isAlwaysClosed: true,
      finding: String.raw`^[^\s:][^:]*:\d+ \S`,
    },
    pages: { whole: [], before: ["--"], prefix: "", endings: null },
    install: INSTALL,
  },
  docusaurus: {
    settings: {
      command: [NODE, "node_modules/@docusaurus/core/bin/docusaurus.mjs", "build", "--out-dir", "/tmp/site"],
      mounts: [{ from: `${CHECKS_FOLDER}/site/node_modules`, at: "node_modules" }],
      timeoutSeconds: 900,
    },
    programs: ["docusaurus", "docusaurus.mjs"],
    proof: {
      findingsAt: [1],
      closing: String.raw`\[SUCCESS\] Generated static files|Docusaurus found broken (?:links|anchors)`,
      isAlwaysClosed: true,
      finding: String.raw`Broken (?:link|anchor) on source page|MDX compilation failed for file`,
    },
    install:
      `copy the repository's package.json and package-lock.json to ${CHECKS_FOLDER}/site, and run npm ci ` +
      "there, again whenever they change",
  },
  mkdocs: {
    settings: {
      command: ["mkdocs", "build", "--strict", "--site-dir", "/tmp/site"],
      timeoutSeconds: 600,
    },
    programs: ["mkdocs"],
    proof: {
      findingsAt: [1],
      closing: String.raw`Documentation built in |Aborted with \d+ warnings? in strict mode`,
      isAlwaysClosed: true,
      finding: String.raw`^WARNING\s+-\s`,
    },
    install: "apt-get install mkdocs, with the themes and plugins that mkdocs.yml names",
  },
  mint: {
    settings: {
      command: [NODE, `${CHECKS_FOLDER}/mint/node_modules/.bin/mint`, "broken-links", "--check-anchors"],
      readable: [`${CHECKS_FOLDER}/mint`],
    },
    programs: ["mint", "mintlify"],
    proof: {
      findingsAt: [1],
      closing: String.raw`(?:no|\d+) broken links?\b.{0,20}(?:found|in \d+ files?)`,
      isAlwaysClosed: true,
      finding: String.raw`^\s*⎿\s`,
    },
    install: `run npm install --prefix ${CHECKS_FOLDER}/mint mint@latest`,
  },
  vale: {
    settings: {
      command: ["vale", "--no-global", "--output=line", `--config=${CHECKS_FOLDER}/vale/.vale.ini`, "."],
      readable: [CHECKS_FOLDER],
    },
    programs: ["vale"],
    // https://vale.sh/docs/cli: 1 for alerts, 2 for an error of its own
    proof: {
      findingsAt: [1],
      closing: String.raw`\d+ errors?, \d+ warnings? and \d+ suggestions? in \d+ file`,
      isAlwaysClosed: false,
      finding: String.raw`^.+:\d+:\d+:[\w-]+\.[\w-]+:`,
    },
    pages: { whole: ["."], before: [], prefix: "", endings: [".md", ".mdx", ".rst", ".adoc", ".txt"] },
    install: `install vale, write ${CHECKS_FOLDER}/vale/.vale.ini, and run vale sync there`,
  },
};

/** The presets by name. */
export const CHECK_PRESETS: ReadonlyMap<string, CheckPreset> = new Map(Object.entries(PRESETS));

type NamedCommand = { name: string; command: readonly string[] };

/**
 * The preset that a check uses with its command unchanged, or null for the operator's own command.
 */
export function presetOfCheck(check: NamedCommand): CheckPreset | null {
  const preset = CHECK_PRESETS.get(check.name);
  return preset?.settings.command.join("\0") === check.command.join("\0") ? preset : null;
}

/** How many words a command may have before its tool, such as `node` or `npx`. */
const WORDS_BEFORE_TOOL = 3;

/** The preset whose tool a command runs, also if an operator wrote the command. Null if none. */
function presetOfTool({ command }: NamedCommand): CheckPreset | null {
  for (const word of command.slice(0, WORDS_BEFORE_TOOL)) {
    const runs = Object.values(PRESETS).find(({ programs }) => programs.includes(basename(word)));
    if (runs !== undefined) return runs;
  }
  return null;
}

/**
 * How to tell that a check's tool ran. `isPreset` is false for an operator's own command, which
 * need not show it.
 */
export type HowItShows = { proof: Proof | null; isPreset: boolean; findingsAt: readonly number[] };

export function howItShows(check: NamedCommand & { findingsAt?: readonly number[] | undefined }): HowItShows {
  const preset = presetOfCheck(check);
  const { proof = null } = preset ?? presetOfTool(check) ?? {};
  return { proof, isPreset: preset !== null, findingsAt: check.findingsAt ?? [] };
}
