const EXAMPLES = /(?:^|\/)(?:examples?|samples?|demos?)\//i;
const README = /(?:^|\/)readme(?:\.[a-z]+)?$/i;
const FENCE = /^ {0,3}(?:`{3,}|~{3,})/;
/** Code within a line of a readme, or the command of a line. */
const SAMPLE = /`([^`\n]+)`|^\W{0,20}\$ +(.*)$/g;
/** An option, and what stands behind one in a help text, but not in a sentence. */
const BEHIND = String.raw`(?: [\w.|-]{1,40})?(?: {2}|\t)|=| ?[<[]|["'\x60]?, ?["'\x60]?-|\s*$`;
const OPTION = String.raw`-{1,2}[a-z][\w-]*(?:${BEHIND})`;
/** A line of a help text, also in the code that prints it, but not in a comment. */
const HELP = new RegExp(String.raw`^\s*(?:[\w.]{1,60}\(\s*)?["'\x60|\s]{0,20}(?:usage:|${OPTION})`, "i");

/** A file's own texts, and those in which it speaks to the users of what it belongs to. */
export type SplitFile = { own: string[]; forUsers: string[] };

/**
 * Tells what a file of a repository says to users: the samples and commands of a readme, the lines
 * of a help text, and everything in a folder of examples. Without a path, nothing is.
 */
export function splitFile(path: string | null, text: string): SplitFile {
  if (path === null) return { own: [text], forUsers: [] };
  if (EXAMPLES.test(path)) return { own: [], forUsers: [text] };
  const isReadme = README.test(path);
  const forUsers: string[] = [];
  const samples: string[] = [];
  let before: "none" | "help" | "code" = "none";
  let isFenced = false;
  for (const line of text.split("\n")) {
    const isFence = isReadme && FENCE.test(line);
    if (isFence) isFenced = !isFenced;
    const kind = isReadme && isFenced && !isFence ? "code" : HELP.test(line) ? "help" : "none";
    if (kind !== "none") forUsers.push(kind === before ? `${forUsers.pop() ?? ""}\n${line}` : line);
    before = kind;
    if (!isReadme || kind !== "none") continue;
    for (const [, code, command] of line.matchAll(SAMPLE)) samples.push(code ?? command ?? "");
  }
  return { own: [text], forUsers: [...forUsers, ...samples] };
}
