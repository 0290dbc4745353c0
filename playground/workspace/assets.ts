import { readdirSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { extname } from "node:path";

const folder = new URL("./public/", import.meta.url);

const types: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".ts": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

export type Asset = { type: string; body: string };

/**
 * The page's files by name, read once: a request can name nothing else. `index.html` carries the
 * token. Types are stripped from the code, which keeps its lines and columns.
 */
export function readAssets(token: string): ReadonlyMap<string, Asset> {
  const assets = new Map<string, Asset>();
  for (const name of readdirSync(folder)) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    const text = readFileSync(new URL(name, folder), "utf8");
    assets.set(name, { type, body: servedAs(name, text, token) });
  }
  return assets;
}

function servedAs(name: string, text: string, token: string): string {
  if (name === "index.html") return text.replace("{{page-token}}", token);
  return name.endsWith(".ts") ? stripTypeScriptTypes(text) : text;
}
