import { expect, it } from "vitest";
import { repairLinks } from "../../../playground/agent/links.ts";

const FILES = [
  "README.md",
  "docs/quickstart.md",
  "docs/install.md",
  "docs/configuration.md",
  "docs/my page (1).md",
  "docs/api/README.md",
  "docs/api/reference.md",
  "docs/guides/alerts.mdx",
  "docs/guides/deploy/server.md",
  "images/tank.png",
  "src/index.js",
];
const repair = (text: string, path = "docs/quickstart.md") =>
  repairLinks(path, text, path.endsWith("x"), FILES);

it.each([
  ["[a](instal.md)", "[a](install.md)"],
  ["[a](./instal.md#top)", "[a](./install.md#top)"],
  ["[a](../install.md)", "[a](install.md)"],
  ["[a](Install.md)", "[a](install.md)"],
  ["[a](api/refrence.md?x=1#y)", "[a](api/reference.md?x=1#y)"],
  ["[a](api/refrence)", "[a](api/reference)"],
  ["[a](alert.mdx)", "[a](guides/alerts.mdx)"],
  ["[a](server.md)", "[a](guides/deploy/server.md)"],
  ["[a](config.md)", "[a](configuration.md)"],
  ['[a](instal.md "title")', '[a](install.md "title")'],
  ["[a](<instal.md>)", "[a](<install.md>)"],
  ["![a](tnak.png)", "![a](../images/tank.png)"],
  ["[a]: instal.md", "[a]: install.md"],
  ["[a](my%20pgae%20(1).md)", "[a](my%20page%20%281%29.md)"],
])("repairs %s", (text, repaired) => {
  expect(repair(text).text).toBe(repaired);
});

it.each([
  "[a](install.md)",
  "[a](install)",
  "[a](api)",
  "[a](api/)",
  "[a](../README.md#x)",
  "[a](#top)",
  "[a](https://example.com/instal.md)",
  "[a](mailto:ana@example.com)",
  "[a](/instal.md)",
  "`[a](instal.md)`",
  "```\n[a](instal.md)\n```",
  "[a](%E0%A4%A.md)",
])("leaves %s", (text) => {
  expect(repair(text)).toEqual({ text, edits: [], ambiguous: [], unknown: [] });
});

it("leaves a link that could mean several files, and says which", () => {
  expect(repair("[a](README.md)")).toMatchObject({
    text: "[a](README.md)",
    ambiguous: [{ target: "README.md", candidates: ["README.md", "docs/api/README.md"] }],
  });
});

it("takes the one in the folder that the link names", () => {
  expect(repair("[a](../api/README.md)").text).toBe("[a](api/README.md)");
});

it("leaves a link for which nothing is near, and says so", () => {
  expect(repair("[a](nowhere-at-all.md)")).toMatchObject({ edits: [], unknown: ["nowhere-at-all.md"] });
});

it("changes nothing more when it is done again", () => {
  const text = "[a](instal.md) [b](api/refrence) [c](README.md) [d](./../instal.md)";
  const once = repair(text).text;
  expect(repair(once).text).toBe(once);
});
