// Makes a reader's process read for minutes, and writes the process's id.
import { ReaderProcesses } from "../../src/service/runner/process/apart/apart.ts";

const readers = new ReaderProcesses({ timeLimitMs: 60 * 60_000 });
const turn = readers.forTurn("docs", new AbortController().signal, () => []);
const quote = `${"a ".repeat(200)}b ${"a ".repeat(250)}`;
const source = { repository: "docs", path: "page.md", line: null, quote };
const claim = {
  page: "page.md",
  statement: "It is so.",
  source,
  path: "page.md",
  evidence: "code" as const,
  converted: false,
};
const read = turn.read("checkSources", {
  claims: Array.from({ length: 20_000 }, () => claim),
  files: new Map([["page.md", { content: Buffer.from("a ".repeat(2_000_000)) }]]),
  commit: "",
  at: null,
  isPublic: true,
});
setImmediate(() => console.log(readers.pids.join(" ")));
await read;
