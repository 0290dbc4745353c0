import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { writeFiles } from "../support/repository-of.ts";
import { openTempDir } from "../support/temp-dir.ts";

const PROGRAM = resolve("deploy/docs-checks/links.mjs");

type Tree = Record<string, string>;

async function withTree<T>(files: Tree, use: (folder: string) => T): Promise<T> {
  await using dir = await openTempDir();
  await writeFiles(dir.path, files);
  return use(dir.path);
}

function check(
  cwd: string,
  ...options: string[]
): { status: number | null; lines: string[]; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...options], {
    cwd,
    encoding: "utf8",
  });
  return { status, lines: stdout.split("\n").filter(Boolean), stderr };
}

/** The links on this page that are findings, each link on a line of its own. */
async function broken(files: Tree, page: string, links: readonly string[]): Promise<string[]> {
  const list = links.map((link) => `- ${link.startsWith("<") ? link : `[words](${link})`}\n`).join("");
  const lines = await withTree(
    { ...files, [page]: `${files[page] ?? ""}\n${list}` },
    (folder) => check(folder).lines,
  );
  return lines.map((line) => /^[^:]*:\d+ (.*?): /.exec(line)?.[1] ?? line);
}

const KEYS = "# Keys\n\n## Make a key {#make}\n\n## Twice\n\n## Twice\n\n## Bread & butter\n\n## 2. Next\n";
const STYLES: Record<
  string,
  { files: Tree; page: string; right: string[]; wrong: string[]; inside?: string[] }
> = {
  plain: {
    files: {
      "a.md": "# A\n",
      "sub/README.md": "# Sub\n",
      "keys.md": `${KEYS}\n<a id="raw"></a><a name="nm"></a>\n`,
      "p q.md": "",
      "i/x.png": "",
    },
    page: "a.md",
    right: [
      "keys.md#make",
      "keys.md#twice-1",
      "keys.md#raw",
      "keys.md#nm",
      "keys.md#:~:text=key",
      "keys.md#",
      "#top",
      "sub",
      "sub/",
      "p%20q.md",
      "<p q.md>",
      "/keys.md",
      "i/x.png",
      "keys.md?plain=1#L2",
      "https://example.com/x.md",
      "mailto:a@example.com",
      "{{ page }}",
      "#a",
      `<img src="i/x.png">`,
      "../outside.md",
    ],
    wrong: [
      "gone.md",
      "keys.md#gone",
      "keys.md#twice-5",
      "Keys.md",
      "sub/gone.md",
      "i/y.png",
      "/docs/gone.md",
      "#gone",
      "g%6Fne.md",
      "gone.md?x=1",
    ],
  },
  docusaurus: {
    files: {
      "docusaurus.config.js": "redirects: [{ from: '/docs/was', to: '/docs/keys' }]",
      "docs/a.md": "# A\n",
      "docs/keys.md": KEYS,
      "docs/01-first.md": "# First\n",
      "docs/slugged.md": "---\nslug: other\n---\n",
      "docs/sub/index.mdx": "# Sub\n",
      "static/img/x.png": "",
    },
    page: "docs/a.md",
    right: [
      "keys",
      "./keys#make",
      "./keys.md",
      "@site/docs/keys.md",
      "/docs/keys",
      "/docs/first",
      "first",
      "other",
      "sub/",
      "/img/x.png",
      "keys.md#bread--butter",
      "/docs/was",
      "/docs/tags/x",
    ],
    wrong: ["@site/docs/gone.md", "gone", "sub/gone", "/docs/gone", "keys#gone", "./KEYS"],
  },
  mkdocs: {
    files: {
      "mkdocs.yml": "plugins:\n  - redirects:\n      redirect_maps:\n        was.md: keys.md\n",
      "docs/a.md": "# A\n\n!!! note\n\n    [inside](inside.md)\n",
      "docs/keys.md":
        "# Keys\n\n## Make { #make }\n\n## Other {: #other .c }\n\n## Twice\n\n## Twice\n\n[](){#here}\n",
      "docs/sub/index.md": "",
      "docs/plugin.md": `# P\n\n#### <!-- md:setting a.b -->\n\n<!-- md:option c:d -->\n\n=== "Tab"\n\n    x\n`,
    },
    page: "docs/a.md",
    right: [
      "plugin.md#a.b",
      "plugin.md#+c:d",
      "plugin.md#p--tab",
      "keys.md#make",
      "keys.md#other",
      "keys.md#twice_1",
      "keys.md#here",
      "was.md",
      "../sub/",
      "../keys/#make",
    ],
    wrong: ["keys.md#gone", "gone.md", "../gone/", "plugin.md#a.c", "plugin.md#p--gone"],
    inside: ["inside.md"],
  },
  vitepress: {
    files: {
      "docs/.vitepress/config.ts": "",
      "docs/a.md": "# A\n",
      "docs/keys.md": KEYS,
      "docs/guide/x.md": "# X\n",
      "docs/public/x.png": "",
    },
    page: "docs/a.md",
    right: [
      "./keys",
      "./keys.html#make",
      "keys.md#_2-next",
      "keys.md#bread-butter",
      "/guide/x",
      "/guide/x.html",
      "/x.png",
    ],
    wrong: ["./gone", "./gone.html", "/guide/gone", "/gone", "/gone.png"],
  },
  starlight: {
    files: {
      "astro.config.mjs": "",
      "src/content/docs/a.mdx": "---\ntitle: A\n---\n",
      "src/content/docs/guide/Some Page.mdx": "## One\n",
      "src/content/docs/fr/a.mdx": "",
    },
    page: "src/content/docs/a.mdx",
    right: [
      "/guide/some-page/",
      "/guide/some-page/#one",
      "#_top",
      "../guide/some-page/",
      "/fr/guide/some-page/",
      `<LinkCard href="/guide/some-page/" />`,
    ],
    wrong: ["/guide/gone/", "/gone/", "/guide/some-page/#gone"],
  },
  mintlify: {
    files: {
      "docs.json": `{"redirects":[{"source":"/was/:slug*","destination":"/b"}]}`,
      "a.mdx": `# A\n\n<img src="/images/gone.png" />\n`,
      "fr/b.mdx": "# B\n",
      "d.mdx": "# D\n",
      "images/x.png": "",
      "b.mdx": `## Costs $5: now\n\n<ResponseField name="icon" type="x">\n\n    ## Deep\n\n</ResponseField>\n`,
    },
    page: "a.mdx",
    right: [
      "b",
      "/b",
      "./b#deep",
      "/b#costs-%245%3A-now",
      "/b#param-icon",
      "/was/it",
      "/fr/b",
      "/fr/b#b",
      `<img src="/images/x.png" />`,
    ],
    wrong: ["/c", "./c", "/b#gone", "/fr/d", "/fr/b#deep"],
    inside: ["/images/gone.png"],
  },
  nextjs: {
    files: {
      "content/a.mdx": "# A\n",
      "content/b.mdx": "## Make a key [#make]\n",
      "content/(more)/c.mdx": "# C\n",
    },
    page: "content/a.mdx",
    right: ["./b#make", "b.mdx#make", "./c", "./c#c"],
    wrong: ["./b#gone", "./gone"],
  },
  quarto: {
    files: { "_quarto.yml": "", "a.md": "# A\n", "b.qmd": "# B\n" },
    page: "a.md",
    right: ["b.qmd", "b.html", "b"],
    wrong: ["gone.html"],
  },
  mdbook: {
    files: { "book.toml": "", "src/SUMMARY.md": "# S\n", "src/a.md": "# A\n" },
    page: "src/a.md",
    right: ["print.html"],
    wrong: ["gone.html"],
  },
  jekyll: {
    files: {
      "_config.yml": "",
      "_docs/a.md": "---\npermalink: /docs/a/\n---\n# A\n",
      "_docs/b.md": "# B\n",
    },
    page: "_docs/a.md",
    right: ["b.md#b", "#a", "/any/route/", "any-route"],
    wrong: ["gone.md", "#gone"],
  },
  partial: {
    files: {
      "docusaurus.config.js": "",
      "docs/_part.mdx": "# Part\n",
      "docs/sub/x.md": "",
      "docs/sub/02-y.md": "",
      "docs/z.mdx":
        "---\nid: z\n---\nimport Part from './_part.mdx';\nimport S from './S.jsx';\n" +
        "import P from './p.svg?raw';\n\n<Part />\n\n[x](gone-near)\n",
      "docs/p.svg": "",
      "docs/S.jsx": `import React from 'react';\nexport default () => <b id="bold" />;\n`,
    },
    page: "docs/_part.mdx",
    right: ["./x.md", "../sub/y", "z#part", "z#bold", "#any", `<RepoLink href="src/main.js" />`],
    wrong: ["./gone.md", "../sub/gone", "z#gone"],
    inside: ["gone-near"],
  },
  hugo: {
    files: {
      "hugo.toml": "",
      "content/a.md": "# A\n",
      "content/b/index.md": "---\naliases: [/was/]\n---\n# B\n\nterm\n: what it is\n",
      "content/b/x.png": "",
      "content/c/d.md": "",
    },
    page: "content/a.md",
    right: [
      "../b/",
      "b/index.md",
      "/b/",
      "/b/#term",
      "/was/",
      `{{< ref "b" >}}`,
      "{{% relref b %}}",
      "b/x.png",
    ],
    wrong: ["/c/gone/", "b/gone.md", "b/gone.png"],
  },
  myst: {
    files: {
      "conf.py": "",
      "a.md": "# A\n",
      "b.md": "(my label)=\n## B\n\n```{note}\n:name: noted\n[x](noted.md)\n```\n",
      "c.rst": ".. _far:\n\nC\n===\n",
    },
    page: "a.md",
    right: ["b.md#my-label", "#noted", "c.rst", "c.rst#far", "c.rst#c"],
    wrong: ["gone.rst", "c.rst#gone"],
    inside: ["noted.md"],
  },
  docfx: {
    files: {
      "docfx.json": "",
      "redir/.openpublishing.redirection.json": `{"redirections":[{"source_path":"../was.md"}]}`,
      "a.md": "# A\n",
      "made/index.md": "# Made\n",
      "Some.md": "# Some\n\n## \\$?\n",
    },
    page: "a.md",
    right: [
      "some.md",
      "Some.md#section",
      "was.md",
      "xref:system.string",
      "#tab/windows",
      "/dotnet/api",
      "~/gone.md",
      "made/Some.Class.yml",
    ],
    wrong: ["gone.md"],
  },
};

it.each(Object.entries(STYLES))(
  "tells right links from broken ones: %s",
  async (_style, { files, page, right, wrong, inside = [] }) => {
    expect(new Set(await broken(files, page, [...right, ...wrong]))).toEqual(new Set([...wrong, ...inside]));
  },
);

const HIDING: Record<string, string> = {
  "after switches of markdownlint": "<!-- markdownlint-disable -->\n\n[x](gone.md)\n",
  reference: "[x][y]\n\n[y]: gone.md\n",
  footnote: "Words[^1]\n\n[^1]: [x](gone.md)\n",
  table: "| a |\n| - |\n| [x](gone.md) |\n",
  HTML: `<p>\n<a\n  href="gone.md">x</a>\n</p>\n`,
  picture: `<img alt="x" src='gone.md'>\n`,
  "text of a tag": `<Card title={a > "b"} href="#">[x](gone.md)</Card>\n`,
  "tag in a tag's braces": `<Card icon={<B c="}" />}\n\n  href="gone.md" />\n`,
  "after an open comment in code": "`<!--` and [x](gone.md)\n",
  "after an indented fence": "<A>\n      ```\n  #\n  ```\n</A>\n\n[x](gone.md)\n",
};
it.each(Object.entries(HIDING))("finds a broken link in a page of JSX: %s", async (_place, text) => {
  const { status, lines } = await withTree({ "a.mdx": `# A\n\n${text}` }, check);
  expect({ status, lines: lines.map((line) => line.replace(/:\d+ /, " ")) }).toEqual({
    status: 1,
    lines: ["a.mdx gone.md: it isn't there"],
  });
});

it("takes no code, comment or front matter for a link", async () => {
  const text =
    "---\ntitle: '[x](gone.md)'\n---\n\n`[x](gone.md)`\n\n```\n[x](gone.md)\n```\n\n    [x](gone.md)\n\n" +
    "<!-- [x](gone.md)\n\n[x](gone.md) -->\n\n<pre>[x](gone.md) <a href='gone.md'></pre>\n\n\\[x](gone.md)\n";
  expect(await withTree({ "a.md": text }, check)).toEqual({ status: 0, lines: [], stderr: "" });
});

it("reads the pages that changed and those that name one, and says how many", async () => {
  const files = {
    "mkdocs.yml": "",
    "docs/moved/keys.md": "# Keys\n",
    "docs/names-it.md": "[x](keys.md)\n",
    "docs/other.md": "[x](nowhere.md)\n",
    "docs/area/index.md": "# Area\n",
    "docs/above.md": "[x](area/#gone)\n",
  };
  const run = (...paths: string[]) => withTree(files, (folder) => check(folder, "--proof", "--", ...paths));
  expect(await run("docs/keys.md", "docs/moved/keys.md")).toEqual({
    status: 1,
    lines: ["docs/names-it.md:1 keys.md: it isn't there", "links: 2 of 5 pages read"],
    stderr: "",
  });
  expect((await run("docs/area/index.md")).lines).toEqual([
    `docs/above.md:1 area/#gone: no heading or id is called "gone" there`,
    "links: 2 of 5 pages read",
  ]);
  expect((await run()).lines.at(-1)).toBe("links: 5 of 5 pages read");
});

it("reads no pages that name another of the same name, and all if settings changed", async () => {
  const files = {
    "docs.json": "{}",
    "one/topic.mdx": "# One\n",
    "two/topic.mdx": "# Two\n",
    "two/near.mdx": "[a](topic#one) and [b](./gone)\n",
    "near-one.mdx": "[a](one/topic#one)\n\n[b](gone)\n",
    "route.mdx": "A topic of [a](/one/topic#two).\n\n[b](/was)\n",
    "shows.mdx": "import T from './one/topic.mdx';\n\n<T />\n",
    "far.mdx": "[a](shows#two)\n",
  };
  const run = (path: string) => withTree(files, (folder) => check(folder, "--proof", "--", path).lines);
  expect(await run("one/topic.mdx")).toEqual([
    `far.mdx:1 shows#two: no heading or id is called "two" there`,
    `route.mdx:1 /one/topic#two: no heading or id is called "two" there`,
    "links: 5 of 7 pages read",
  ]);
  expect(await run("docs.json")).toContain("route.mdx:3 /was: no page has this route");
});

it("finds in changed pages and those around them what it finds in all", { tags: "all" }, async () => {
  const names = [
    "a.md",
    "b.md",
    "01-c.md",
    "in/index.md",
    "in/a.md",
    "in/b c.md",
    "in/deep/a.md",
    "_part.md",
  ];
  const target = fc.constantFrom(
    ...["a", "b", "01-c", "c", "in", "index", "b%20c", "deep/a", "_part"].flatMap((name) =>
      ["", "./", "../", "in/", "/", "/in/", "../in/"].flatMap((start) => [
        `${start}${name}`,
        `${start}${name}.md#head`,
      ]),
    ),
    "..",
    "./",
    "../in/",
    "#head",
  );
  const piece = fc.oneof(
    target.map((link) => `[x](${link})\n`),
    target.map((link) => `<a href="${link}">x</a>\n`),
    target.map((link) => `[x]\n\n[x]: ${link}\n`),
    fc.constantFrom("# Head\n", '--8<-- "_part.md"\n', '--8<-- "in/a.md"\n', "```\n# Head\n```\n"),
  );
  const tree = fc.record(
    Object.fromEntries(
      names.map((name) => [name, fc.array(piece, { maxLength: 4 }).map((all) => all.join("\n"))]),
    ),
    { requiredKeys: [] },
  );
  const settings = fc.constantFrom("docusaurus.config.js", "mkdocs.yml", "docs.json", "none.txt");
  await fc.assert(
    fc.asyncProperty(tree, settings, fc.constantFrom(...names), async (pages, setting, changed) => {
      const { [changed]: _gone, ...without } = pages;
      const place = (files: Partial<Tree>) => ({
        [setting]: "",
        ...Object.fromEntries(Object.entries(files).map(([name, text]) => [`docs/${name}`, text ?? ""])),
      });
      const linksIn = (files: Partial<Tree>, ...options: string[]) =>
        withTree(place(files), (folder) =>
          check(folder, ...options).lines.map((line) => line.replace(/: [^:]*$/, "")),
        );
      const before = new Set(await linksIn(pages));
      const fresh = (await linksIn(without)).filter((line) => !before.has(line));
      expect(await linksIn(without, "--", `docs/${changed}`)).toEqual(expect.arrayContaining(fresh));
    }),
    { numRuns: 10 },
  );
});

it("fails with another code if it can't look", async () => {
  expect((await withTree({}, (folder) => check(folder, "--fix"))).status).toBe(3);
});

it("tells of a page that is too large", async () => {
  expect((await withTree({ "a.md": "word ".repeat(300_000), "b.md": "[x](a.md#any)" }, check)).lines).toEqual(
    ["a.md:1 this page is larger than a million characters, so its links were not looked at"],
  );
});

const PIECES = [
  "[",
  "](",
  ")",
  "{",
  "}",
  '<a href="',
  '">',
  "<",
  "<!--",
  "-->",
  "`",
  "```\n",
  "\n",
  "\n\n",
  "#",
  "# a",
  "    ",
  "> ",
  "- ",
  "|",
  "../",
  "a.md",
  "%",
  "{/*",
  "*/}",
  "---\n",
  "(a)=",
  "$",
  "'",
  "import a from './a.md'",
  "\u0000",
  "\u{1F600}",
  "\r\n",
];

it("ends, with the same findings each time, on any text", { tags: "all" }, async () => {
  const text = fc.array(fc.constantFrom(...PIECES), { maxLength: 200 }).map((pieces) => pieces.join(""));
  const pages = fc.array(text, { minLength: 5, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(pages, async (texts) => {
      const files = Object.fromEntries(
        texts.map((body, index) => [`p${index}.${index % 2 ? "md" : "mdx"}`, body]),
      );
      const [first, second] = await withTree(files, (folder) => [
        check(folder, "--proof"),
        check(folder, "--proof"),
      ]);
      expect(first).toMatchObject({
        status: expect.toSatisfy((code) => code === 0 || code === 1),
        stderr: "",
      });
      expect(first?.lines.at(-1)).toBe(`links: ${texts.length} of ${texts.length} pages read`);
      expect(second).toEqual(first);
    }),
    { numRuns: 10 },
  );
});
