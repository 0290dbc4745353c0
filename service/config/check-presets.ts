/** Where presets look for what an operator installs for them. */
export const CHECKS_FOLDER = "/opt/docs-checks";

/**
 * A check that settings can name without a command of their own. `install`: how its tool comes to
 * where it is looked for. `brokenAt`: the exit codes that say that the tool itself couldn't run.
 */
export type CheckPreset = {
  command: readonly string[];
  readable: readonly string[];
  mounts: readonly { from: string; at: string }[];
  timeoutSeconds: number;
  brokenAt: readonly number[];
  install: string;
};

const TOOLS = {
  readable: [CHECKS_FOLDER],
  mounts: [],
  timeoutSeconds: 300,
  brokenAt: [2],
  install: `copy deploy/docs-checks to ${CHECKS_FOLDER}, and run npm install there`,
};
const PAGES = ["**/*.md", "**/*.mdx", "#**/node_modules"];

const PRESETS = {
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
    readable: [],
    mounts: [{ from: `${CHECKS_FOLDER}/site/node_modules`, at: "node_modules" }],
    timeoutSeconds: 900,
    brokenAt: [],
    install:
      `copy the repository's package.json and package-lock.json to ${CHECKS_FOLDER}/site, and run npm ci ` +
      "there, again whenever they change",
  },
  mkdocs: {
    command: ["mkdocs", "build", "--strict", "--site-dir", "/tmp/site"],
    readable: [],
    mounts: [],
    timeoutSeconds: 600,
    brokenAt: [],
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
} as const satisfies Record<string, CheckPreset>;

export const CHECK_PRESET_NAMES = ["markdownlint", "links", "docusaurus", "mkdocs", "mint", "vale"] as const;
export type CheckPresetName = (typeof CHECK_PRESET_NAMES)[number];
export const CHECK_PRESETS: Record<CheckPresetName, CheckPreset> = PRESETS;

export function isCheckPreset(name: string): name is CheckPresetName {
  return Object.hasOwn(PRESETS, name);
}

/** The preset that a check is, its command unchanged; null: it is the operator's own. */
export function presetOfCheck({
  name,
  command,
}: {
  name: string;
  command: readonly string[];
}): CheckPreset | null {
  const preset = isCheckPreset(name) ? CHECK_PRESETS[name] : null;
  return preset?.command.join("\0") === command.join("\0") ? preset : null;
}
