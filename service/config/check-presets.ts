/** Where presets look for the tools that an operator installs for them. */
const CHECKS_FOLDER = "/opt/docs-checks";

/**
 * A check that settings can choose by name, without a command. `install` says how to install its
 * tool. `brokenAt` are the exit codes that mean that the tool itself couldn't run.
 */
export type CheckPreset = {
  command: readonly string[];
  readable?: readonly string[];
  mounts?: readonly { from: string; at: string }[];
  timeoutSeconds?: number;
  brokenAt?: readonly number[];
  install: string;
};

const TOOLS = {
  readable: [CHECKS_FOLDER],
  brokenAt: [2],
  install: `copy deploy/docs-checks to ${CHECKS_FOLDER}, and run npm install there`,
};
const PAGES = ["**/*.md", "**/*.mdx", "#**/node_modules"];

const PRESETS: Readonly<Record<string, CheckPreset>> = {
  markdownlint: {
    ...TOOLS,
    command: [
      `${CHECKS_FOLDER}/node_modules/.bin/markdownlint-cli2`,
      "--no-globs",
      "--config",
      `${CHECKS_FOLDER}/.markdownlint-cli2.jsonc`,
      ...PAGES,
    ],
  },
  links: { ...TOOLS, command: ["node", `${CHECKS_FOLDER}/links.mjs`] },
  docusaurus: {
    command: ["node", "node_modules/@docusaurus/core/bin/docusaurus.mjs", "build", "--out-dir", "/tmp/site"],
    mounts: [{ from: `${CHECKS_FOLDER}/site/node_modules`, at: "node_modules" }],
    timeoutSeconds: 900,
    install:
      `copy the repository's package.json and package-lock.json to ${CHECKS_FOLDER}/site, and run npm ci ` +
      "there, again whenever they change",
  },
  mkdocs: {
    command: ["mkdocs", "build", "--strict", "--site-dir", "/tmp/site"],
    timeoutSeconds: 600,
    install: "apt-get install mkdocs, with the themes and plugins that mkdocs.yml names",
  },
  mint: {
    ...TOOLS,
    command: [`${CHECKS_FOLDER}/mint/node_modules/.bin/mint`, "broken-links", "--check-anchors"],
    readable: [`${CHECKS_FOLDER}/mint`],
    brokenAt: [],
    install: `run npm install --prefix ${CHECKS_FOLDER}/mint mint@latest`,
  },
  vale: {
    ...TOOLS,
    command: ["vale", "--no-global", "--output=line", `--config=${CHECKS_FOLDER}/vale/.vale.ini`, "."],
    install: `install vale, write ${CHECKS_FOLDER}/vale/.vale.ini, and run vale sync there`,
  },
};

/** The presets by name. */
export const CHECK_PRESETS: ReadonlyMap<string, CheckPreset> = new Map(Object.entries(PRESETS));

/**
 * The preset that a check uses with its command unchanged, or null for the operator's own command.
 */
export function presetOfCheck(check: { name: string; command: readonly string[] }): CheckPreset | null {
  const preset = CHECK_PRESETS.get(check.name);
  return preset?.command.join("\0") === check.command.join("\0") ? preset : null;
}
