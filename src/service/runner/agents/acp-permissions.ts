import { mayAsk } from "../../config/agent-presets.ts";
import type {
  PermissionOption,
  RequestPermissionResponse,
  ToolCall,
  ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import { MAX_CHOICES } from "../../../shared/contract/question.ts";
import { sentenceCase, redactedLine } from "../../base/printable-text.ts";
import { isWithin } from "../../base/paths.ts";
import { MAX_KNOWN_PATHS, MAX_PATH_CHARS } from "./acp-message.ts";
import type { AgentRun } from "./agent.ts";

/**
 * What we remember about a tool call. Its updates only contain what is new, and may be many, so the
 * `title` and `shown`, the paths that a person reads, are ready to be shown.
 */
type KnownCall = { kind: string; title: string; paths: string[]; shown: string[] };

const MAX_CALLS = 1000;
const MAX_REFUSED = 50;
const MAX_REFUSED_SHOWN = 5;
const MAX_TITLE_CHARS = 200;
const MAX_LABEL_CHARS = 100;
/** The most paths that a question names. */
const MAX_PATHS = 5;
const EDITS = new Set(["edit", "delete", "move"]);
const LOOKS = new Set(["read", "search", "think"]);

/**
 * Answers permission requests by policy. Allowed are edits of named files inside the tree and the
 * agent's folder for temporary files, and reading these and the context repositories; once only, if
 * the agent offers that. Programs are allowed only if the project allows a terminal. Everything
 * else is decided by a person, or rejected. This guides agents that ask. Agents that don't are
 * confined by the sandbox and by what is committed.
 */
export class AcpPermissions {
  readonly #run: AgentRun;
  readonly #onRefused: (what: string) => void;
  readonly #calls = new Map<string, KnownCall>();
  readonly #refused = new Set<string>();

  /** `onRefused` is called once for each thing that is refused. */
  constructor(run: AgentRun, onRefused: (what: string) => void) {
    this.#run = run;
    this.#onRefused = onRefused;
  }

  /** What was requested and refused, one line each. */
  get refused(): string[] {
    return [...this.#refused];
  }

  /** Notes what an agent reports about a tool call. */
  note(call: ToolCall | ToolCallUpdate): KnownCall {
    const before = this.#calls.get(call.toolCallId);
    const paths = pathsOf(call);
    const { redact } = this.#run;
    const known = {
      kind: call.kind ?? before?.kind ?? "other",
      title: call.title == null ? (before?.title ?? "") : redactedLine(redact, call.title, MAX_TITLE_CHARS),
      paths: paths.length > 0 ? paths : (before?.paths ?? []),
      shown: paths.length > 0 ? this.#shown(paths) : (before?.shown ?? []),
    };
    if (this.#calls.size >= MAX_CALLS) this.#calls.delete(this.#calls.keys().next().value ?? "");
    this.#calls.set(call.toolCallId, known);
    return known;
  }

  async answer(
    call: ToolCallUpdate,
    options: readonly PermissionOption[],
  ): Promise<RequestPermissionResponse> {
    const known = this.note(call);
    if (this.#isAllowed(known)) return select(optionTo("allow", options));
    const chosen = await this.#askPerson(known, options);
    if (chosen?.kind.startsWith("allow")) return select(chosen);
    const what = this.named(known);
    if (!this.#refused.has(what) && this.#refused.size < MAX_REFUSED) {
      this.#refused.add(what);
      this.#onRefused(what);
    }
    return select(chosen ?? optionTo("reject", options));
  }

  /** The option that a person chose. Undefined if nobody was asked, or nobody answered. */
  async #askPerson(
    call: KnownCall,
    options: readonly PermissionOption[],
  ): Promise<PermissionOption | undefined> {
    const { ask, redact, settings } = this.#run;
    const offered = options.slice(0, MAX_CHOICES);
    if (!mayAsk(settings) || offered.length === 0) return undefined;
    const answer = await ask({
      text: `May the agent do this? ${this.named(call)}`,
      choices: offered.map(({ name, kind }, index) => ({
        id: String(index + 1),
        label: redactedLine(redact, name, MAX_LABEL_CHARS) || kind.replaceAll("_", " "),
      })),
      allowsText: false,
    });
    return answer !== null && "choice" in answer ? offered[Number(answer.choice) - 1] : undefined;
  }

  /** What the call is about, in one line without secrets. */
  named({ kind, title, shown }: KnownCall): string {
    const what = title || kind;
    const missing = shown.filter((path) => !what.includes(path)).slice(0, MAX_PATHS);
    if (missing.length === 0) return what;
    // Some agents use just the kind of a call as its title.
    const isKind = /^[a-z]+$/.test(what);
    return isKind ? `${sentenceCase(what)} ${missing.join(", ")}` : `${what} (${missing.join(", ")})`;
  }

  #shown(paths: readonly string[]): string[] {
    const { redact, sandbox } = this.#run;
    const { tree } = sandbox.inside;
    const others = paths.filter((path) => path !== tree).slice(0, 2 * MAX_PATHS);
    return others.map((path) => redactedLine(redact, path.replace(`${tree}/`, ""), MAX_TITLE_CHARS));
  }

  #isAllowed({ kind, paths }: KnownCall): boolean {
    const { settings, contextFolder, sandbox } = this.#run;
    if (kind === "execute") return settings.terminal;
    const isContext = (path: string) => contextFolder !== null && isWithin(contextFolder, path);
    // That folder has the request's attachments, and the agent writes its sources there.
    const isTemporary = (path: string) => isWithin(sandbox.inside.tmp, path);
    // Some agents ask with the kind `other` before they leave their folder, whatever they do there.
    if (kind === "other" && paths.length > 0) {
      return paths.every((path) => isTemporary(path) || isContext(path));
    }
    if (!EDITS.has(kind) && !LOOKS.has(kind)) return false;
    if (EDITS.has(kind) && paths.length === 0) return false;
    return paths.every(
      (path) =>
        isWithin(sandbox.inside.tree, path) || isTemporary(path) || (LOOKS.has(kind) && isContext(path)),
    );
  }
}

/** The option that does it once if it is offered, or else the one that does it always. */
function optionTo(act: "allow" | "reject", options: readonly PermissionOption[]) {
  const offered = (kind: PermissionOption["kind"]) => options.find((option) => option.kind === kind);
  return offered(`${act}_once`) ?? offered(`${act}_always`);
}

function select(option: PermissionOption | undefined): RequestPermissionResponse {
  if (option === undefined) return { outcome: { outcome: "cancelled" } };
  return { outcome: { outcome: "selected", optionId: option.optionId } };
}

/** See `readMessage`: locations are all that a call names. */
function pathsOf({ locations }: ToolCall | ToolCallUpdate): string[] {
  const paths = (locations ?? []).map(({ path }) => path);
  // Nobody could look at so many, or at so long ones: that is about everything.
  const isSane = paths.length <= MAX_KNOWN_PATHS && paths.every((path) => path.length <= MAX_PATH_CHARS);
  return isSane ? paths : ["/"];
}

/** A sentence about what an agent was refused, or null if nothing was. */
export function refusedText(refused: readonly string[]): string | null {
  if (refused.length === 0) return null;
  const shown = refused.slice(0, MAX_REFUSED_SHOWN).join("; ");
  const more = refused.length > MAX_REFUSED_SHOWN ? `; and ${refused.length - MAX_REFUSED_SHOWN} more` : "";
  return `The agent wanted to do what it may not do here, and was refused: ${shown}${more}.`;
}
