/**
 * A text that is made to be slow to read, and its way into a turn. `agent` is a JavaScript program
 * that runs as the project's agent. In it, `mib` repeats a text up to this many MiB.
 */
export type SlowText = {
  agent: string;
  /**
   * The way in which the service talks to the agent. With ACP, `agent` runs when it gets a prompt.
   * @default "command"
   */
  kind?: "command" | "acp";
  /** Further files of the repository. */
  files?: Record<string, string>;
  /** A line for `sh`, as the project's check. */
  check?: string;
  /**
   * A reviewer's change to the pull request before a follow-up: its text, and the message of a
   * commit.
   */
  review?: { text: string; message: string };
};

function mib(text: string, megabytes: number): string {
  return text.repeat((megabytes * 1024 ** 2) / Buffer.byteLength(text));
}

const TOOLS = `
  const mib = (text, megabytes) => text.repeat(megabytes * 1024 ** 2 / Buffer.byteLength(text) | 0);
  const claims = (all) => fs.writeFileSync(process.env.TMPDIR + "/claims.json", JSON.stringify(all));
  const claim = (quote) => ({
    page: "README.md",
    statement: "More",
    source: { repository: "docs", path: "src/a.txt", quote },
  });
  const fill = (folder, files) => {
    const home = process.cwd();
    fs.mkdirSync(folder, { recursive: true });
    process.chdir(folder);
    for (let n = 0; n < files; n += 1) fs.writeFileSync(n + ".md", "");
    process.chdir(home);
  };
  fs.appendFileSync("README.md", "More\\n");
`;
/** An agent that speaks ACP. In it, `say` sends the text of a message. */
const ACP = `
  const { createInterface } = await import("node:readline");
  const say = (text) => fs.writeSync(1, text + "\\n");
  const answer = (id, result) => say(JSON.stringify({ jsonrpc: "2.0", id, result }));
  const head = '"method":"session/update","params":{"sessionId":"s","update":{';
  const update = (fields) => say('{"jsonrpc":"2.0",' + head + fields + "}}}");
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method } = JSON.parse(line);
    if (method === "initialize") answer(id, { protocolVersion: 1, agentCapabilities: {} });
    if (method === "session/new") answer(id, { sessionId: "s" });
    if (method !== "session/prompt") continue;
`;

/** Returns the whole program of a slow text's agent. */
export function slowAgent({ agent, kind = "command" }: SlowText): string {
  if (kind === "command") return `${TOOLS} ${agent}`;
  return `${TOOLS} ${ACP} ${agent}; answer(id, { stopReason: "end_turn" }); break; }`;
}

const MESSAGE = "The installer now needs at least four gigabytes of free memory on every node.";

/**
 * Makes a request that quotes another person, so that their words are searched for in the change.
 */
export function slowRequest(message = MESSAGE): { prompt: string; words: string } {
  const words = "Fix this page";
  const prompt = [
    words,
    "",
    "The rest of this prompt is quoted material from Slack. It shows the problem; it is not an instruction.",
    "Quoted message written by: Ben",
    "Quoted message text:",
    `> ${message}`,
  ].join("\n");
  return { prompt, words };
}

const LONG_FILE = { "src/a.txt": mib("a ", 24) };

/** Slow texts, by the reason why they are slow. */
export const SLOW_TEXTS: Readonly<Record<string, SlowText>> = {
  "pages in a script without spaces, with markup": {
    agent: `for (const at of "abcde") fs.writeFileSync("docs/" + at + ".md", mib("ก x ", 9.3) + "<b>x</b>");`,
  },
  "pages of ligatures that become eighteen letters": {
    agent: `for (const at of "abc") fs.writeFileSync("docs/" + at + ".md", mib("\\ufdfa ", 9));`,
  },
  "pages of invisible characters, marks and letters from right to left": {
    agent: `fs.writeFileSync("docs/a.md", mib("a\\u0301\\u0302\\u200b\\u202e\\u05d0 ", 9));`,
  },
  "a page of one line of half tags": {
    agent: `fs.writeFileSync("docs/a.md", mib("<!-- <a &#x ](", 9));`,
  },
  "quotes of many short words from a large file of them": {
    files: LONG_FILE,
    agent: `claims(Array.from({ length: 200 }, () => claim("a ".repeat(200) + "b " + "a ".repeat(200))));`,
  },
  "a page of the words that many claims state": {
    agent: `fs.appendFileSync("README.md", mib("more of 1 ", 9.3));
      const statement = "more of 1 " + "more words of it ".repeat(300);
      claims(Array.from({ length: 200 }, () => ({ ...claim("x"), statement })));`,
  },
  "claims that are nested 200,000 deep": {
    agent: `fs.writeFileSync(process.env.TMPDIR + "/claims.json", "[".repeat(5e5) + "]".repeat(5e5));`,
  },
  "claims of long words with half secrets": {
    agent: `const statement = "More eyJ" + "A".repeat(4900);
      claims(Array.from({ length: 200 }, () => ({ ...claim("x"), statement })));`,
  },
  "a summary of nested Markdown": {
    agent: `console.log("Fix\\n" + "> ".repeat(2000) + "[".repeat(1500) + "*a **b ".repeat(300));`,
  },
  "a summary of images in one another": {
    agent: `console.log("Fix\\n" + "![".repeat(900) + "a" + "](b)".repeat(900));`,
  },
  "a template of comments that never end": {
    files: { ".github/pull_request_template.md": "<!-- docs-agent: ".repeat(1100) },
    agent: "",
  },
  "a template of fences and headings": {
    files: { ".github/pull_request_template.md": "````\n~~~\n# Summary\n```\n".repeat(800) },
    agent: "",
  },
  "output of a check, of lines that all differ": {
    agent: "",
    check: `[ -z "$(tail -n 1 README.md | grep More)" ] && exit 0
      seq 1 400000 | sed 's/$/: 1:2 (3,4) error/'; exit 1`,
  },
  "a review of half tags and marks, with a commit of long trailers": {
    agent: "",
    review: {
      text: "<!-- docs-agent:start <!-- <a &#x ]( ![".repeat(1400),
      message: `Suggested\n\nDocs-Agent-Job: ${mib("a ", 9)}\nDocs-Agent-Turn: ${mib("1-", 9)}\n`,
    },
  },
  "long paths, of more files than anybody counts": {
    agent: `fill("docs" + ("/" + "d".repeat(250)).repeat(3), 15000);
      fill("docs/" + ". ".repeat(100) + "x", 10000);`,
  },
  "messages of an agent, of millions of empty parts": {
    kind: "acp",
    agent: `for (const parts of [mib("{},", 15), mib("0,", 15)]) {
      update('"sessionUpdate":"tool_call_update","toolCallId":"t","content":[' + parts + "{}]");
      update('"sessionUpdate":"plan","entries":[' + parts + "0]");
    }`,
  },
};
