import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import type { Group } from "./gallery.ts";
import { NAMES } from "./made-up.ts";

/** The modules with which the playground's page draws messages. */
const drawing = new URL("../playground/workspace/public/", import.meta.url);
const STYLES = ["base.css", "conversation.css", "blocks.css", "overlays.css", "gallery.css"];
const SCRIPT = "gallery.ts";

/**
 * One HTML file that contains everything. It loads nothing, so it can be opened from a disk. Its
 * import map has the modules, each under the name by which the others import it.
 */
export function galleryPage(groups: readonly Group[]): string {
  const modules = modulesFrom(SCRIPT);
  const imports = Object.fromEntries(
    [...modules].map(([name, code]) => [
      `page/${name}`,
      `data:text/javascript;base64,${Buffer.from(code).toString("base64")}`,
    ]),
  );
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>Every message of Docs Agent</title>
    <style>${STYLES.map((name) => readFileSync(new URL(name, drawing), "utf8")).join("\n")}</style>
    <script type="importmap">${asScript({ imports })}</script>
    <script type="application/json" id="gallery">${asScript({ names: NAMES, groups })}</script>
    <script type="module">import "page/${SCRIPT}";</script>
  </head>
  <body class="gallery"></body>
</html>
`;
}

/** The JavaScript of a module and of all that it imports, by file name. */
function modulesFrom(first: string): ReadonlyMap<string, string> {
  const modules = new Map<string, string>();
  const wanted = [first];
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    if (modules.has(name)) continue;
    const code = stripTypeScriptTypes(readFileSync(new URL(name, drawing), "utf8"));
    modules.set(name, code.replaceAll(/(from|import) "\.\//g, '$1 "page/'));
    wanted.push(...[...code.matchAll(/(?:from|import) "\.\/([\w-]+\.ts)"/g)].map(([, found = ""]) => found));
  }
  return modules;
}

/** JSON that can't end the script element that it is in. */
function asScript(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", String.raw`\u003c`);
}
