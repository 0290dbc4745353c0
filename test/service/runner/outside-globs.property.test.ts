// @module-tag all

import fc from "fast-check";
import { expect, it } from "vitest";
import { inlineAgent, openRunnerWorld } from "../../support/runner-world.ts";

const hasDotName = (path: string) => path.split("/").some((part) => part.startsWith("."));
/** Each glob with what it means, written down a second time. */
const GLOBS: Record<string, (path: string) => boolean> = {
  "docs/**": (path) => path.startsWith("docs/") && !hasDotName(path),
  "**/*.md": (path) => path.endsWith(".md") && !hasDotName(path),
  "*.txt": (path) => path.endsWith(".txt") && !path.includes("/") && !hasDotName(path),
  "a/*/b.md": (path) => /^a\/[^/.][^/]*\/b\.md$/.test(path),
  ".github/*.md": (path) => /^\.github\/[^/.][^/]*\.md$/.test(path),
};
const name = fc.constantFrom(
  "docs",
  "a",
  "b.md",
  "c.txt",
  "d.js",
  ".github",
  ".hidden.md",
  "x y.md",
  "ü.md",
  "Docs",
  ".git",
  "-rf.md",
);
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
const operation = fc.oneof(
  fc.record({ op: fc.constant("write"), path, content: fc.constantFrom("one", "two", "") }),
  fc.record({ op: fc.constant("remove"), path }),
  fc.record({ op: fc.constant("rename"), path, to: path }),
  fc.record({
    op: fc.constant("link"),
    path,
    to: fc.oneof(path, fc.constantFrom("/etc", "/etc/passwd", "..")),
  }),
);

const OBEY = `
  import { dirname } from "node:path";
  for (const { op, path, to, content } of JSON.parse(process.env.OPERATIONS)) {
    try {
      if (op === "remove") fs.rmSync(path, { recursive: true });
      else fs.mkdirSync(dirname(op === "rename" ? to : path), { recursive: true });
      if (op === "write") fs.writeFileSync(path, content);
      if (op === "rename") fs.renameSync(path, to);
      if (op === "link") fs.symlinkSync(to, path);
    } catch {}
  }
`;

it("commits nothing outside the globs and no links, whatever an agent does to whatever tree", async () => {
  let committed = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(
        path.filter((each) => !each.includes(".git/") && !each.endsWith(".git")),
        { minLength: 3, maxLength: 6 },
      ),
      fc.array(operation, { minLength: 6, maxLength: 12 }),
      fc.uniqueArray(fc.constantFrom(...Object.keys(GLOBS)), { minLength: 1, maxLength: 3 }),
      async (paths, operations, docs) => {
        const files: Record<string, string> = {};
        for (const each of paths) {
          const isFree = Object.keys(files).every(
            (other) => !other.startsWith(`${each}/`) && !each.startsWith(`${other}/`),
          );
          if (isFree) files[each] = `start of ${each}`;
        }
        await using world = await openRunnerWorld({ remote: "folder", files });
        world.env["OPERATIONS"] = JSON.stringify(operations);
        const project = world.project(inlineAgent(OBEY), {
          docs,
          agentEnv: ["OPERATIONS"],
          repository: world.bare,
        });
        const result = await world.run(project);
        expect(["pull-request", "no-changes"]).toContain(result.kind);
        if (result.kind !== "pull-request") return;
        const diff = await world.inBare("diff", "--raw", "-z", "--no-renames", "main", "docs-agent/job1");
        const fields = diff.split("\0").filter((field) => field !== "");
        for (let at = 0; at < fields.length; at += 2) {
          const [from, to] = (fields[at] ?? "").slice(1).split(" ");
          const changed = fields[at + 1] ?? "";
          committed += 1;
          expect(
            docs.some((glob) => GLOBS[glob]?.(changed)),
            `${changed} with ${docs.join(" ")}`,
          ).toBe(true);
          expect(["000000", "100644"]).toContain(from);
          expect(["000000", "100644"]).toContain(to);
        }
      },
    ),
    // A file that has the name of a documentation folder.
    { numRuns: 10, unbiased: true, examples: [[["docs"], [{ op: "remove", path: "docs" }], ["docs/**"]]] },
  );
  expect(committed).toBeGreaterThan(0);
}, 240_000);
