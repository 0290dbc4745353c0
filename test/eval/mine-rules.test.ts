import * as fc from "fast-check";
import { expect, it } from "vitest";
import { isUndone } from "../../eval/mine/fixed-again.ts";
import { nameOfRepository, readLog } from "../../eval/mine/history.ts";
import { asPattern, hasToken } from "../../eval/mine/known.ts";
import { placesOf } from "../../eval/mine/places.ts";
import { linkedTo, toldRequest, messageWords } from "../../eval/mine/request.ts";
import { screened } from "../../eval/mine/screen.ts";
import { askedFor, foundIn } from "../../eval/mine/select.ts";
import { sectionsUnder } from "../../eval/page/sections.ts";

const COMMIT = {
  id: "a".repeat(40),
  parent: "b".repeat(40),
  author: "Ana <ana@example.com>",
  at: new Date("2024-01-01T00:00:00Z"),
  subject: "Fix the port",
  body: "",
  files: [{ path: "docs/a.md", before: "1".repeat(40), after: "2".repeat(40) }],
};
const isDocs = (path: string) => path.endsWith(".md");

it("reads every commit that git may print", () => {
  const hex = fc.stringMatching(/^[0-9a-f]{40}$/);
  const line = fc.string().map((text) => text.replace(/\p{Cc}/gu, "").trim() || "x");
  const path = fc.string().map((text) => text.replace(/[\p{Cc}:]/gu, "") || "p");
  const commit = fc.record({
    id: hex,
    parent: hex,
    subject: line,
    body: fc.constantFrom("", "More of it.\n\n:100644 looks like a file"),
    files: fc.array(fc.record({ path, before: fc.option(hex), after: fc.option(hex) })),
  });
  fc.assert(
    fc.property(fc.array(commit), (commits) => {
      const none = "0".repeat(40);
      const text = commits.map(({ id, parent, subject, body, files }) => {
        const raw = files.map(
          ({ path: at, before, after }) => `:100644 100644 ${before ?? none} ${after ?? none} M\0${at}\0`,
        );
        const head = ["\x01" + id, parent, "Ana <a@b>", "2024-01-01T00:00:00Z", `${subject}\n\n${body}`];
        return `${head.join("\0")}\0\0\n${raw.join("")}`;
      });
      const read = readLog(text.join(""));
      expect(read.map(({ at: _at, author: _author, ...rest }) => rest)).toEqual(commits);
    }),
  );
});

it("names a repository by its address or its folder", () => {
  expect(nameOfRepository("https://git.example.com/acme/docs.git")).toBe("acme-docs");
  expect(nameOfRepository("git@git.example.com:acme/docs")).toBe("acme-docs");
  expect(nameOfRepository("../mirrors/Acme+Docs/repo/")).toBe("acme-docs");
});

it.each([
  ["bot", { author: "docs-syncer[bot] <b@example.com>" }],
  ["release", { subject: "release: v1.2.3" }],
  ["revert", { subject: 'Revert "Fix the port"' }],
  ["no-docs", { files: [{ path: "src/a.ts", before: "1", after: "2" }] }],
  ["code-too", { files: [...COMMIT.files, { path: "src/a.ts", before: "1", after: "2" }] }],
  ["moves", { files: [...COMMIT.files, { path: "docs/b.md", before: null, after: "2" }] }],
  ["history", { files: [{ path: "CHANGELOG.md", before: "1", after: "2" }] }],
  ["translation", { files: [{ path: "docs/de/a.md", before: "1", after: "2" }] }],
  [null, { author: "Abbot <abbot@example.com>", subject: "Reverted colors are red" }],
])("tells by message and paths: %s", (reason, over) => {
  expect(screened({ ...COMMIT, ...over }, isDocs)).toBe(reason);
});

it("finds a token only where it isn't part of another one", () => {
  expect(hasToken("set `--port-name` and 5.1", "--port")).toBe(false);
  expect(hasToken("set `--port-name` and 5.1", "5")).toBe(false);
  expect(hasToken("set `--port` to 5.", "5")).toBe(true);
  fc.assert(
    fc.property(fc.stringMatching(/^[!-~]{1,12}$/), fc.string(), (token, before) => {
      expect(new RegExp(asPattern(token), "mu").test(`${before} ${token} `)).toBe(true);
    }),
  );
});

const PAGE = [
  "# Server",
  "The server listens on port `5000` by default, and takes any address of the machine.",
  "## Start",
  '```ts\nimport { runServer } from "acme";\n```',
  "It says whne it is ready. Read [more](setings.md) about what it can do.",
  "| name | default |\n|---|---|\n| mode | fast |",
].join("\n\n");
const changed = (from: string, to: string) => ({
  path: "docs/a.md",
  before: PAGE,
  after: PAGE.replace(from, to),
});

it.each([
  ["fact", "`5000`", "`4173`", "Server", ["5000"], ["4173"]],
  ["sample", "runServer", "startServer", "Start", ["runServer"], ["startServer"]],
  ["link", "setings.md", "settings.md", "Start", ["setings.md"], ["settings.md"]],
  ["words", "whne", "when", "Start", ["whne"], ["when"]],
  ["fact", "| fast |", "| safe |", "Start", ["fast"], ["safe"]],
])("says what kind of change it is: %s", (kind, from, to, under, old, brought) => {
  expect(placesOf(changed(from, to))).toMatchObject([{ kind, under, old, brought }]);
});

it("knows a change of the layout, and one that only words something anew", () => {
  expect(foundIn([changed("| mode | fast |", "| mode   |  fast |")])).toBe("layout");
  const anew = "By default it takes any address that the machine has, and is there on port `5000`.";
  expect(
    foundIn([
      changed("The server listens on port `5000` by default, and takes any address of the machine.", anew),
    ]),
  ).toBe("prose");
  expect(foundIn([changed("## Start", "## Stop\n\nSend it a signal.\n\n## Start")])).toBe("addition");
});

it("asks for what the request, the code or the docs can tell", () => {
  const reasonFor = (words: string, from: string, to: string, code: [string, string][] = []) => {
    const page = changed(from, to);
    const found = foundIn([page]);
    if (typeof found === "string") return found;
    const texts = () => ({
      docs: [
        ["docs/a.md", PAGE],
        ["docs/b.md", "when it runs"],
      ] as const,
      code,
    });
    const places = askedFor(found, { from: "told", words, text: words }, [page], texts);
    return typeof places === "string" ? places : null;
  };
  expect(reasonFor("the port is 4173", "`5000`", "`4173`")).toBeNull();
  expect(reasonFor("the port is wrong", "`5000`", "`4173`")).toBe("unknowable");
  const code: [string, string] = ["src/server.ts", "export const SERVER_PORT = 4173;"];
  expect(reasonFor("the port is wrong", "`5000`", "`4173`", [code])).toBeNull();
  expect(reasonFor("update a.md", "`5000`", "`4173`", [code])).toBe("says-too-little");
  const link = "port [`5000`](https://acme.example.com/ports) by default";
  const page = { path: "docs/a.md", before: PAGE.replace("port `5000` by default", link), after: PAGE };
  const unlinked = foundIn([page]);
  if (typeof unlinked === "string") throw new Error(unlinked);
  const asked = (words: string) =>
    askedFor(unlinked, { from: "told", words, text: words }, [page], () => ({ docs: [], code: [] }));
  expect(asked("update what it says of addresses")).toBe("says-too-little");
  expect(asked("remove the link to acme.example.com/ports")).toHaveLength(1);
  expect(reasonFor("fix a typo", "whne", "when")).toBeNull();
  expect(reasonFor("update what it says of addresses", "port `5000`", "one port")).toBe("says-too-little");
  expect(reasonFor("fix a dead link", "setings.md", "settings.md")).toBeNull();
});

it("needs nothing that a commit added without being asked", () => {
  const both = PAGE.replace("`5000`", "`4173`").replace("## Start", "Read `docs/more.md`, too.\n\n## Start");
  const page = { path: "docs/a.md", before: PAGE, after: both };
  const found = foundIn([page]);
  if (typeof found === "string") throw new Error(found);
  expect(found.places).toHaveLength(2);
  const words = "the port is 4173";
  const texts = () => ({ docs: [], code: [] });
  expect(askedFor(found, { from: "told", words, text: words }, [page], texts)).toMatchObject([
    { brought: ["4173"] },
  ]);
});

it("words a request as a person does", () => {
  const body = "The code has another one.\n\nFixes #12\n\n* first try\n\nCo-authored-by: Ben <b@example.com>";
  const words = messageWords({ subject: "docs(server)!: Fixed the port (#34)", body });
  expect(words).toBe("Fix the port\n\nThe code has another one.");
  expect(messageWords({ subject: "Merge pull request #3 from ana/fix", body: "Correct the port" })).toBe(
    "Correct the port",
  );
  const { text } = toldRequest("change the port of the server to `4173`", ["docs/a.md"], ["4173"]);
  expect(text).toBe("change the port of the server to what the code says\n\nIt's on docs/a.md.");
});

it("follows a pull request to the issue that it closes, and not to its own words", async () => {
  const asked: string[] = [];
  const known = new Map([
    [34, { title: "Fix the port", body: "It is 4173. Closes #12.", isPull: true }],
    [12, { title: "Port?", body: "<!-- template -->\nI can't reach 5000.", isPull: false }],
  ]);
  const issues = async (number: number, of: string) => {
    asked.push(`${of}#${number}`);
    return known.get(number) ?? null;
  };
  expect(await linkedTo({ subject: "Fix the port (#34)", body: "" }, issues)).toEqual({
    issue: "Port?\n\nI can't reach 5000.",
    pull: "Fix the port\n\nIt is 4173.",
  });
  expect(await linkedTo({ subject: "Fix it", body: "Fixes acme/core#5" }, issues)).toEqual({
    issue: null,
    pull: null,
  });
  expect(asked).toEqual(["#34", "#12", "acme/core#5"]);
});

it("notices that a commit was taken back, or fixed again", () => {
  const lines = { before: "a\nport 5000\n", after: "a\nport 4173\n" };
  expect(isUndone({ ...lines, text: "a\nb\nport 4173\n" }, ["4173"])).toBe(false);
  expect(isUndone({ ...lines, text: "a\nport 4180\n" }, ["4173"])).toBe(true);
  expect(isUndone({ before: "a\nold\n", after: "a\n", text: "a\nold\n" }, [])).toBe(true);
});

it("looks below a heading, and not into samples for headings", () => {
  const text = "# A\n\n## B {#b}\n\n```sh\n# C\nrun\n```\n\n### D\n\nin\n\n## E\n\nout";
  expect(sectionsUnder(text, "B")).toContain("in");
  expect(sectionsUnder(text, "B")).not.toContain("out");
  expect(sectionsUnder(text, "C")).toBeNull();
});
