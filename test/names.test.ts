import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

const EXPORT =
  /^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(?:const|let|var|function\*?|class|type|interface|enum|namespace) ([\w$]+)/;
/** `export const { a, b: c } = …`: the names are a and c. */
const EXPORT_PARTS = /^export const \{([^}]+)\}/;
/** `export { a, b as c };`, on one line or several; with `from` it exports again what has its name elsewhere. */
const EXPORT_LIST = /^export (?:type )?(?:\*|\{)[^;]*;/;

type Source = { file: string; text: string };

function sourcesIn(...folders: string[]): Source[] {
  return folders
    .filter((folder) => existsSync(join(ROOT, folder)))
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
        .filter((name) => /\.m?[jt]s$/.test(name) && !name.includes("node_modules"))
        .map((name) => ({
          file: `${folder}/${name}`,
          text: readFileSync(join(ROOT, folder, name), "utf8"),
        })),
    );
}

/** What a file exports under a name of its own. A schema and the type inferred from it are one thing. */
function exportedNames({ file, text }: Source): Set<string> {
  const names = new Set<string>();
  for (const { index } of text.matchAll(/^export /gm)) {
    const rest = text.slice(index);
    const name = EXPORT.exec(rest)?.[1];
    const list = EXPORT_LIST.exec(rest)?.[0];
    const parts = EXPORT_PARTS.exec(rest)?.[1];
    if (name !== undefined) names.add(name);
    else if (parts !== undefined) for (const part of parts.split(",")) names.add(lastWord(part));
    else if (list === undefined) throw new Error(`${file} exports in a way that this test cannot read`);
    else if (!list.includes(" from ")) throw new Error(`${file}: export where the name is declared`);
  }
  return names;
}

function lastWord(text: string): string {
  return /([\w$]+)\s*$/.exec(text)?.[1] ?? "";
}

it("no two exported things share a name", () => {
  const filesByName = new Map<string, string[]>();
  for (const source of sourcesIn("src", "world", "playground")) {
    for (const name of exportedNames(source)) {
      filesByName.set(name, [...(filesByName.get(name) ?? []), source.file]);
    }
  }
  expect(filesByName.size).toBeGreaterThan(300);
  expect([...filesByName].filter(([, files]) => files.length > 1)).toEqual([]);
});

it("documents that the code cites are in the repository", () => {
  const cited = sourcesIn("src", "world", "playground", "test", "bench")
    .filter(({ file }) => !file.startsWith("playground/sample-docs/"))
    .flatMap(({ file, text }) =>
      text
        .split("\n")
        .filter((line) => /^\s*(?:\/?\*|\/\/)/.test(line))
        .flatMap((line) => [...line.matchAll(/(?<![\w*.{}/:-])([\w./-]+\.md)\b/g)])
        .map((match) => ({ file, document: match[1] ?? "" })),
    );
  expect(cited.length).toBeGreaterThan(0);
  expect(cited.filter(({ document }) => !existsSync(join(ROOT, document)))).toEqual([]);
});

it("files that ARCHITECTURE.md names are in the repository", () => {
  const named = [
    ...readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8").matchAll(/`(?:[\w-]+\/)*([\w.-]+\.ts)`/g),
  ].map(([, name]) => name ?? "");
  const files = sourcesIn("src", "world", "playground", "test").map(({ file }) => basename(file));
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !files.includes(name))).toEqual([]);
});
