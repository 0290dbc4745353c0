import { commandsOf } from "./syntax.ts";

/** What is wrong with the commands of a sample that a shell can read. */
export function commandFaults(code: string): string[] {
  return shellCommands(commandsOf(code)).flatMap((words) => {
    const [name = ""] = words;
    if (name.startsWith("-")) return [`"${name}" is an option without a command`];
    if (name === "curl") return curlFaults(words.slice(1));
    return [];
  });
}

/** The options of `curl` that take a value. */
export const CURL_OPTIONS = new Set(
  [
    "-X --request -H --header -d --data --data-raw --data-binary --data-ascii --data-urlencode --json",
    "-o --output -u --user -F --form -T --upload-file -A --user-agent -b --cookie -m --max-time",
    "--connect-timeout --retry --url -e --referer -w --write-out -x --proxy --cacert --cert --key",
  ].flatMap((line) => line.split(" ")),
);
const DATA = new Set(["-d", "--data", "--data-raw", "--data-ascii", "--json"]);

function curlFaults(args: readonly string[]): string[] {
  const faults: string[] = [];
  const urls: string[] = [];
  const headers: string[] = [];
  const bodies: string[] = [];
  let isJson = false;
  for (let at = 0; at < args.length; at += 1) {
    const [option, inline] = splitOption(args[at] ?? "");
    if (!option.startsWith("-") || option === "-") {
      urls.push(option);
      continue;
    }
    if (!CURL_OPTIONS.has(option)) continue;
    const value = inline ?? args[(at += 1)];
    if (value === undefined) faults.push(`curl ${option} has no value`);
    else if (option === "--url") urls.push(value);
    else if (option === "-H" || option === "--header") headers.push(value);
    else if (DATA.has(option)) bodies.push(value);
    isJson ||= option === "--json";
  }
  isJson ||= headers.some((header) => /^content-type:\s*application\/json/i.test(header));
  if (urls.length === 0) faults.push("curl has no address");
  faults.push(
    ...headers
      .filter((header) => !/^[\w-]+[:;]|^@/.test(header))
      .map((header) => `curl: "${header}" is no header`),
  );
  const unread = bodies.filter((body) => isJson && !/^@|\$/.test(body) && !isJsonText(body));
  return [...faults, ...unread.map((body) => `curl sends "${body}", which isn't JSON`)];
}

/** `--header=x` and `-Hx` are an option with its value. */
function splitOption(word: string): [string, string?] {
  const long = /^(--[\w-]+)=([^]*)$/.exec(word);
  if (long !== null) return [long[1] ?? "", long[2] ?? ""];
  const short = /^(-[XHdoumFTAbewx])([^]+)$/.exec(word);
  return short === null ? [word] : [short[1] ?? "", short[2] ?? ""];
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text.replace(/…|\.\.\./g, ""));
    return true;
  } catch {
    return false;
  }
}

/** Blanks, ends of commands, and parts of words, quoted or not. */
const PART = new RegExp(
  [
    "(?<blank>(?:[ \\t]|\\\\\\n)+)",
    "(?<end>\\n|;|&&?|\\|\\|?)",
    "(?<comment>#[^\\n]*)",
    "'(?<single>[^']*)'",
    '"(?<double>(?:\\\\[^]|[^"\\\\])*)"',
    "\\\\(?<escaped>[^])",
    "(?<plain>[^\\s;&|'\"\\\\]+)",
  ].join("|"),
  "gy",
);

/** The commands of a text, each in words. Here documents and substitutions are left as words. */
function shellCommands(text: string): string[][] {
  const commands: string[][] = [[]];
  let word: string | null = null;
  const endWord = () => {
    if (word !== null) commands.at(-1)?.push(word);
    word = null;
  };
  for (const { groups = {} } of text.matchAll(PART)) {
    const { blank, end, comment, single, double, escaped, plain } = groups;
    if (comment !== undefined && word === null) continue;
    if (blank !== undefined || end !== undefined) endWord();
    if (end !== undefined) commands.push([]);
    const quoted = double?.replace(/\\(["\\$`])/g, "$1").replaceAll("\\\n", "");
    const part: string | undefined = single ?? quoted ?? escaped ?? plain ?? comment;
    if (part !== undefined) word = (word ?? "") + part;
  }
  endWord();
  return commands
    .map((words) => words.filter((each, nth) => nth > 0 || !/^\w+=/.test(each)))
    .filter(({ length }) => length > 0);
}
