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
const BEGINNINGS = [".#", "._", ".aider", ".nfs", ".fuse_hidden"];
const ENDINGS = [
  ["~", ".orig", ".rej", ".bak", ".backup", ".old", ".save", ".tmp", ".temp", ".swp", ".swo", ".swn"],
  [".log", ".pid", ".pyc", ".pyo", ".crswap", ".part"],
].flat();

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

/**
 * What a new file is, if a tool has left it behind, or if it is a note of the agent's at the
 * repository's top. Null if it is neither, or if `words`, what people asked for, or a glob name it.
 */
export function leftBehind(
  path: string,
  globs: readonly string[],
  words: readonly string[],
): "tool" | "note" | null {
  const names = path.split("/");
  const isSpelled = (name: string) => globs.some((glob) => glob.split("/").includes(name));
  const ofTool = names.some((name) => isOfTool(name) && !isSpelled(name));
  const [name = ""] = names;
  if (!ofTool && (names.length > 1 || !isNote(name) || isSpelled(name))) return null;
  if (words.some((text) => isNamedIn(text, names.at(-1) ?? ""))) return null;
  return ofTool ? "tool" : "note";
}

function isOfTool(name: string): boolean {
  const lower = name.toLowerCase();
  return (
    NAMES.has(lower) ||
    BEGINNINGS.some((beginning) => lower.startsWith(beginning)) ||
    ENDINGS.some((ending) => lower.endsWith(ending)) ||
    /^#.+#$/.test(lower)
  );
}

function isNote(name: string): boolean {
  const stem = name.replace(TEXT, "");
  if (stem === name && name.includes(".")) return false;
  return NOTES.has(stem.toLowerCase()) || (stem === stem.toUpperCase() && IN_CAPITALS.test(stem));
}

/** True if a text has a file's name, or, if it has several words, these words. */
function isNamedIn(text: string, name: string): boolean {
  const said = text.toLowerCase();
  const lower = name.toLowerCase();
  const parts = lower.replace(TEXT, "").split(/[ _-]+/);
  return (
    said.includes(lower) ||
    (parts.length > 1 &&
      said
        .split(/[\s_-]+/)
        .join(" ")
        .includes(parts.join(" ")))
  );
}
