import { expect, it } from "vitest";
import { inlineAgent, LOGIC_ONLY, openRunnerWorld, START_FILES } from "../../support/runner-world.ts";

type World = Awaited<ReturnType<typeof openRunnerWorld>>;

const PICTURE = "Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2])";
const POINTER = `version https://git-lfs.github.com/spec/v1\noid sha256:${"a".repeat(64)}\nsize 12345\n`;

function windows(text: string): string {
  return text.replaceAll("\n", "\r\n");
}

/** Lines that the change adds and removes, by page. */
async function counted(world: World): Promise<Record<string, string>> {
  const stat = await world.inBare("diff", "--numstat", "--find-renames", "main", "docs-agent/job1");
  const rows = stat.split("\n").map((row) => row.split("\t"));
  return Object.fromEntries(rows.map(([added, removed, path]) => [path, `+${added} -${removed}`]));
}

it("a page keeps its line ends, also where it moves, and a new one gets those of its folder", async () => {
  const many = Array.from({ length: 30 }, (_, nth) => `Line ${nth}\n`).join("");
  const files = {
    ...START_FILES,
    ".gitattributes": "docs/stored/** text\ndocs/raw/** -text\n",
    "docs/windows/long.md": windows(many),
    "docs/windows/moves.md": windows(`# Moves\n\n${many}`),
    "docs/marked.md": `\ufeff${many}Instal it.`,
    "docs/stored/old.md": windows(many),
  };
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, files });
  const agent = inlineAgent(`
    function edit(from, to, ...words) {
      const text = fs.readFileSync(from, "utf8").replace(/^\\ufeff/, "").replaceAll("\\r\\n", "\\n");
      fs.rmSync(from);
      fs.writeFileSync(to, text.replace(...words).trimEnd() + "\\n");
    }
    edit("docs/windows/long.md", "docs/windows/long.md", "Line 7\\n", "Line seven\\n");
    edit("docs/windows/moves.md", "docs/moved.md", "# Moves", "# Moved");
    edit("docs/marked.md", "docs/marked.md", "Instal ", "Install ");
    edit("docs/stored/old.md", "docs/stored/old.md", "Line 3\\n", "Line three\\n");
    fs.writeFileSync("docs/windows/new.md", "# New\\n\\nText.\\n");
    fs.mkdirSync("docs/raw");
    for (const folder of ["stored", "raw"]) fs.writeFileSync("docs/" + folder + "/new.md", "# New\\r\\n");
  `);
  expect(await world.run(world.project(agent))).toMatchObject({ kind: "pull-request", notes: [] });
  expect(await counted(world)).toEqual({
    "docs/windows/long.md": "+1 -1",
    "docs/{windows/moves.md => moved.md}": "+1 -1",
    "docs/marked.md": "+1 -1",
    "docs/stored/old.md": "+1 -1",
    "docs/windows/new.md": "+3 -0",
    "docs/stored/new.md": "+1 -0",
    "docs/raw/new.md": "+1 -0",
  });
  expect(await world.show("docs/windows/new.md")).toBe("# New\r\n\r\nText.");
  expect(await world.show("docs/stored/new.md")).toBe("# New");
  expect(await world.inBare("cat-file", "-s", "docs-agent/job1:docs/raw/new.md")).toBe("7");
});

it("what Git LFS or a filter keeps isn't committed as it is, unless it is a pointer", async () => {
  const files = {
    ...START_FILES,
    ".gitattributes":
      "[attr]kept filter=lfs diff=lfs merge=lfs -text\n*.png kept\nsealed/** filter=seal\nwide.md working-tree-encoding=UTF-16\n*.rst filter=tidy text\n",
    "docs/.gitattributes": "plain.png !filter\nbare.png -filter\n",
    "docs/old.png": POINTER,
    "docs/moves.png": POINTER,
    "docs/page.rst": "Instal it.\n",
  };
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, files });
  const agent = inlineAgent(`
    fs.mkdirSync("sealed");
    fs.writeFileSync(".gitattributes", "");
    fs.renameSync("docs/moves.png", "docs/moved.png");
    for (const name of ["old", "new", ":(glob)odd", "plain", "bare"]) {
      fs.writeFileSync("docs/" + name + ".png", ${PICTURE});
    }
    for (const path of ["sealed/new.md", "wide.md", "docs/page.rst"]) fs.writeFileSync(path, "# New\\n");
  `);
  const result = await world.run(world.project(agent, { portableNames: false }));
  const foreign = ["docs/:(glob)odd.png", "docs/new.png", "docs/old.png"];
  expect(result).toMatchObject({
    kind: "pull-request",
    leftOut: [".gitattributes", ...foreign, "sealed/new.md", "wide.md"],
    notes: [
      `Not included, because Git LFS keeps files with this name: ${foreign.join(", ")}. Add it by hand.`,
      "Not included, because a filter in .gitattributes changes such files: sealed/new.md, wide.md. Change it by hand.",
    ],
  });
  expect(Object.keys(await counted(world))).toEqual([
    "docs/bare.png",
    "docs/{moves.png => moved.png}",
    "docs/page.rst",
    "docs/plain.png",
  ]);
});

it("a page whose letters the agent's editor damaged is left out and named, also where it moves", async () => {
  const page = (title: string) => Buffer.from(`# ${title} caf\u00e9\n\nInstal it.\n\nUse it.\n`, "latin1");
  const files = { ...START_FILES, "docs/a.md": page("A"), "docs/b.md": page("B"), "docs/c.md": page("C") };
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, files });
  const agent = inlineAgent(`
    const edit = (path, to, encoding) => {
      const text = fs.readFileSync(path, encoding).replace("Instal ", "Install ");
      fs.rmSync(path);
      fs.writeFileSync(to, text, encoding);
    };
    edit("docs/a.md", "docs/a.md", "utf8");
    edit("docs/b.md", "docs/moved.md", "utf8");
    edit("docs/c.md", "docs/c.md", "latin1");
  `);
  expect(await world.run(world.project(agent))).toMatchObject({
    kind: "pull-request",
    leftOut: ["docs/a.md", "docs/b.md", "docs/moved.md"],
    notes: [
      "Not included, because the agent's editor damaged letters that aren't UTF-8: " +
        "docs/a.md, docs/moved.md, docs/b.md. Change it by hand.",
    ],
  });
  expect(await counted(world)).toEqual({ "docs/c.md": "+1 -1" });
});

it("what tools and agents leave beside pages is left out, unless somebody asked for it or it was there", async () => {
  const files = { ...START_FILES, "TODO.md": "- one\n", "docs/old.bak": "old\n" };
  await using world = await openRunnerWorld({ ...LOGIC_ONLY, files });
  const left = [
    "docs/quickstart.md.orig",
    "docs/quickstart.md~",
    "docs/#page.md#",
    "docs/build.log",
    "docs/Thumbs.db",
    "docs/__pycache__/x.pyc",
    "docs/x.rej",
    "docs/x.md.tmp.71.1730",
    "docs/x_LOCAL_12.md",
    "docs/~$x.docx",
    "docs/core.12",
    "NOTES.md",
    "FIX_SUMMARY.md",
    "IMPLEMENTATION_PLAN.md",
    "CLAUDE.md",
  ];
  const wanted = ["docs/TODO.md", "docs/notes.md", "SUMMARY.md", "RELEASE_NOTES.md", "changelog.md"];
  const agent = inlineAgent(`
    fs.mkdirSync("docs/__pycache__");
    for (const path of ${JSON.stringify([...left, ...wanted, "TODO.md", "docs/old.bak"])}) fs.writeFileSync(path, "new\\n");
  `);
  const words = "Add a SUMMARY.md, and release notes for 2.0";
  const result = await world.run(world.project(agent), { prompt: words, words });
  expect(result).toMatchObject({ kind: "pull-request", leftOut: left.toSorted() });
  const notes = "notes" in result ? (result.notes ?? []) : [];
  expect(notes).toEqual([
    expect.stringMatching(/^Not included, because tools leave such files behind: .* and 6 more\. /),
    expect.stringContaining("it looks like the agent's own notes: CLAUDE.md, FIX_SUMMARY.md, "),
  ]);
  expect(await world.changed()).toEqual([...wanted, "TODO.md", "docs/old.bak"].toSorted());
});
