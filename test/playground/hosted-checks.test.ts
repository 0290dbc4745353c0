// @module-tag all

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { brokenAnchors } from "../../playground/anchors.ts";

const DOCS = "playground/sample-docs";

function sampleDocs(): Map<string, string> {
  const paths = readdirSync(DOCS, { recursive: true, encoding: "utf8" });
  const pages = paths.filter((path) => /\.mdx?$/.test(path));
  return new Map(pages.map((path) => [path, readFileSync(join(DOCS, path), "utf8")]));
}

it("finds links to headings that aren't there, by the anchors that GitHub makes", () => {
  const pages = {
    "a.md": "[one](b.md#2-create-a-key) [two](b.md#create) [here](#no) [out](https://x.example/#y)\n\n# Up",
    "b.md": "## 2. Create a *key*\n\n## Twice\n\n## Twice\n",
    "c/d.mdx": "[up](../b.md#twice-1) [gone](../none.md#x)\n\n```\n[code](b.md#nothing)\n```\n",
  };
  expect(brokenAnchors(new Map(Object.entries(pages)))).toEqual([
    "a.md: b.md has no heading #create",
    "a.md: a.md has no heading #no",
  ]);
});

it("has nothing against the sample docs until a heading is renamed", () => {
  const pages = sampleDocs();
  expect(brokenAnchors(pages)).toEqual([]);
  const path = "docs/quickstart.md";
  pages.set(path, (pages.get(path) ?? "").replace("Create a key", "Make a key"));
  expect(brokenAnchors(pages)).toEqual([
    "docs/api/README.md: docs/quickstart.md has no heading #2-create-a-key",
  ]);
});
