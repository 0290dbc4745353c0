import type {
  PermissionOption,
  RequestPermissionResponse,
  ToolCall,
  ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import { isInside } from "../confined-files.ts";

/** What we remember of a tool call: its updates bring only what is new. */
type KnownCall = { kind: string; paths: string[] };

const MAX_CALLS = 1000;
const EDITS = new Set(["edit", "delete", "move"]);
const LOOKS = new Set(["read", "search", "think"]);
/** Where agents put the file's name when they give no location. */
const PATH_KEYS = ["path", "file_path", "filePath", "abs_path", "absolute_path"] as const;

/**
 * Answers permission requests by policy: edits of named files inside the tree and looks inside it are allowed, once where the agent
 * offers that; programs only if the project allows a terminal; everything else is rejected. This steers agents that ask. What
 * holds one that does not ask is the sandbox, and what is committed.
 */
export class AcpPermissions {
  readonly #tree: string;
  readonly #terminal: boolean;
  readonly #calls = new Map<string, KnownCall>();

  constructor(tree: string, terminal: boolean) {
    this.#tree = tree;
    this.#terminal = terminal;
  }

  /** Takes in what an agent tells about a tool call. */
  note(call: ToolCall | ToolCallUpdate): KnownCall {
    const before = this.#calls.get(call.toolCallId);
    const paths = pathsOf(call);
    const known = {
      kind: call.kind ?? before?.kind ?? "other",
      paths: paths.length > 0 ? paths : (before?.paths ?? []),
    };
    if (this.#calls.size >= MAX_CALLS) this.#calls.delete(this.#calls.keys().next().value ?? "");
    this.#calls.set(call.toolCallId, known);
    return known;
  }

  async answer(
    call: ToolCallUpdate,
    options: readonly PermissionOption[],
  ): Promise<RequestPermissionResponse> {
    const wanted = (await this.#isAllowed(this.note(call)))
      ? ["allow_once", "allow_always"]
      : ["reject_once", "reject_always"];
    for (const kind of wanted) {
      const option = options.find((offered) => offered.kind === kind);
      if (option) return { outcome: { outcome: "selected", optionId: option.optionId } };
    }
    return { outcome: { outcome: "cancelled" } };
  }

  async #isAllowed({ kind, paths }: KnownCall): Promise<boolean> {
    if (kind === "execute") return this.#terminal;
    if (!EDITS.has(kind) && !LOOKS.has(kind)) return false;
    if (EDITS.has(kind) && paths.length === 0) return false;
    for (const path of paths) {
      if (path !== this.#tree && !isInside(this.#tree, path)) return false;
    }
    return true;
  }
}

function pathsOf({ locations, content, rawInput }: ToolCall | ToolCallUpdate): string[] {
  const located = (locations ?? []).map(({ path }) => path);
  const diffed = (content ?? []).flatMap((part) => (part.type === "diff" ? [part.path] : []));
  const raw = typeof rawInput === "object" && rawInput !== null ? Object.entries(rawInput) : [];
  const given = raw.flatMap(([key, value]) =>
    typeof value === "string" && PATH_KEYS.some((name) => name === key) ? [value] : [],
  );
  return [...new Set([...located, ...diffed, ...given])];
}
