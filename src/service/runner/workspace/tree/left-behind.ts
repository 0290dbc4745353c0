/** Names of files and folders that tools leave beside pages, in lower case, by what they are. */
const NAMES = new Set(
  [
    // Systems.
    [".ds_store", "thumbs.db", "ehthumbs.db", "desktop.ini", "__macosx", ".trash", "nohup.out"],
    // Editors and languages.
    [".idea", ".vscode", ".vs", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".cache"],
    [".venv", ".ipynb_checkpoints", ".npm", ".yarn", "node_modules"],
    // Agents.
    [".claude", ".claude.json", ".codex", ".opencode", ".gemini", ".qwen", ".copilot", ".cursor", ".goose"],
    [".continue", ".roo", ".cline", ".kilocode", ".windsurf", ".crush", ".serena", ".amp", ".junie", ".kiro"],
  ].flat(),
);
const BEGINNINGS = [".#", "._", "~$", ".~lock.", ".aider", ".nfs", ".fuse_hidden"];
const ENDINGS = [
  ["~", ".orig", ".rej", ".bak", ".backup", ".old", ".save", ".tmp", ".temp", ".swp", ".swo", ".swn"],
  [".log", ".pid", ".pyc", ".pyo", ".crswap", ".part"],
].flat();

/** Unfinished writes and copies with a number, the sides of a merge, and dumps of memory. */
const NUMBERED = /\.(?:tmp|bak|orig|sw)\.?\d[\d.]*$|_(?:BACKUP|BASE|LOCAL|REMOTE)_\d+\.|^core\.\d+$/i;

/** The names of notes that agents write to themselves, without their extension. */
const NOTES = new Set(
  [
    ["notes", "todo", "todos", "scratch", "scratchpad", "worklog", "handoff", "changes_made", "changes-made"],
    ["commit_message", "commit-message", "pr_description", "pr-description", "pull_request_description"],
  ].flat(),
);
/** In capital letters, these are no pages, whatever stands before and after them. */
const IN_CAPITALS = new RegExp(
  `(?:^|[ _-])(?:${[
    "AGENTS|CLAUDE|GEMINI|QWEN|CRUSH|COPILOT|CODEX|MEMORY|NOTES?|TODOS?|TASKS?|PLAN|PROGRESS|STATUS|SUMMARY",
    "REPORT|ANALYSIS|FINDINGS|REVIEW|AUDIT|CHANGES|FIX(?:ES)?|IMPLEMENTATION|VERIFICATION|VALIDATION",
    "CHECKLIST|INVESTIGATION",
  ].join("|")})(?:[ _-]|$)`,
);
const TEXT = /\.(?:md|mdx|markdown|txt|rst|adoc|asciidoc|html)$/i;

/** As much of each text is searched for names. */
const MAX_WORDS_LENGTH = 20_000;
/** Of a file's name. */
const MAX_PARTS = 5;

/**
 * Returns a function that tells what a new file is: one that a tool has left behind, or a note of
 * the agent's at the repository's top. Null if it is neither, or if `words`, what people asked for,
 * or a glob name it.
 */
export function createLeftBehind(
  globs: readonly string[],
  words: readonly string[],
): (path: string) => "tool" | "note" | null {
  const spelled = new Set(globs.flatMap((glob) => glob.split("/")));
  let named: ReadonlySet<string> | undefined;
  return (path) => {
    const names = path.split("/");
    const ofTool = names.some((name) => isOfTool(name) && !spelled.has(name));
    const [top = ""] = names;
    if (!ofTool && (names.length > 1 || !isNote(top) || spelled.has(top))) return null;
    const name = names.at(-1)?.toLowerCase() ?? "";
    named ??= namesIn(words);
    if (named.has(name) || named.has(wordsOfName(name))) return null;
    return ofTool ? "tool" : "note";
  };
}

function isOfTool(name: string): boolean {
  const lower = name.toLowerCase();
  return (
    NAMES.has(lower) ||
    BEGINNINGS.some((beginning) => lower.startsWith(beginning)) ||
    ENDINGS.some((ending) => lower.endsWith(ending)) ||
    NUMBERED.test(name) ||
    /^#.+#$/.test(lower)
  );
}

function isNote(name: string): boolean {
  const stem = name.replace(TEXT, "");
  if (stem === name && name.includes(".")) return false;
  return NOTES.has(stem.toLowerCase()) || (stem === stem.toUpperCase() && IN_CAPITALS.test(stem));
}

/** A name of several words as people write them. A single word alone names no file. */
function wordsOfName(name: string): string {
  const parts = name.replace(TEXT, "").split(/[ _-]+/);
  return parts.length > 1 ? parts.join(" ") : name;
}

/** The names of files that texts may mean, in lower case. */
function namesIn(texts: readonly string[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const text of texts) {
    const lower = text.slice(0, MAX_WORDS_LENGTH).toLowerCase();
    for (const token of lower.split(/[\s\p{Pi}\p{Pf}"'`()<>[\]{},;*|]+/u)) {
      names.add((token.split("/").at(-1) ?? "").replace(/[.:!?]{1,9}$/, ""));
    }
    const words = lower.split(/[\s_-]+/).map((word) => word.replaceAll(/[^\p{L}\p{N}]/gu, ""));
    for (let count = 2; count <= MAX_PARTS; count += 1) {
      for (let at = 0; at + count <= words.length; at += 1) names.add(words.slice(at, at + count).join(" "));
    }
  }
  return names;
}
