import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { manifestDifferences } from "../app/slack/manifest/merge-manifest.ts";
import { jsonFields } from "../shared/text/json-fields.ts";

const SIGNS = { added: "+", removed: "-", changed: "~" } as const;

/**
 * What the manifest of one release has beside another's. `how` is the command that brings it into
 * Slack.
 */
export function manifestChanges(from: string, to: string, how: string): string {
  const [before, after] = [from, to].map((folder) => join(folder, "manifest.yml"));
  if (before === undefined || after === undefined || !existsSync(before) || !existsSync(after)) return "";
  const differences = manifestDifferences(read(before), read(after));
  if (differences.length === 0) return "";
  const lines = differences.map(({ kind, place, text }) => `  ${SIGNS[kind]} ${place}: ${text}\n`).join("");
  return `The manifest changed. Bring it into your Slack app: ${how}\n${lines}`;
}

function read(path: string) {
  return jsonFields(parse(readFileSync(path, "utf8")));
}
