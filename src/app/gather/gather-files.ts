import { within } from "../../shared/machine/ports.ts";
import type { TaskEnd } from "../../shared/queue/task-queue.ts";
import { startOf } from "../../shared/text/text.ts";
import { ATTACHMENT_LIMITS, isOfMediaType, type Attachment } from "../../shared/contract/attachment.ts";
import { sortFiles, type FoundFile, type FileReader, type Unfetched } from "../rules/thread/files.ts";
import type { Request, SharedFile } from "../rules/turn/request.ts";
import { withAlong, type Along } from "../rules/turn/submitting.ts";
import type { Directory } from "../rules/ports/directory.ts";
import { besideOfRequest, refusedOf, threadOfRequest } from "./gather-context.ts";
import { filesOf } from "../rules/thread/messages-to-share.ts";
import type { Turn, TurnFiles } from "../rules/turn/turn.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import type { TurnPayload } from "../rules/decisions/payload.ts";
import type { KnownJob } from "../rules/known-job.ts";

/** How long a request waits to hear what its message holds. */
const MESSAGE_WITHIN_MS = 2_000;

/**
 * What stands in the message that asked, if its event didn't say that. A message that Slack doesn't
 * show, or not in time, has nothing. Undefined if the event said it all.
 */
export async function askedMessage(
  { clock, logger, messageReader }: Pick<TaskDeps, "clock" | "logger" | "messageReader">,
  { mayHaveFiles, messageTs, threadTs, channelId }: Request,
  withinMs = MESSAGE_WITHIN_MS,
): Promise<Pick<Request, "files" | "beside"> | undefined> {
  if (mayHaveFiles !== true) return undefined;
  if (messageTs === undefined) return {};
  const read = messageReader.read({ channelId, threadTs: threadTs ?? messageTs, ts: messageTs });
  const answer = await within(clock, withinMs, read, null);
  if (answer?.ok === true) return answer.value;
  // Without the scope, Slack refuses each of them.
  logger.debug({ error: answer?.fault.error ?? "timeout" }, "could not look a message up");
  return {};
}

/** What Slack says of the files of which messages gave only part, by their ids. */
export type LookedUp = ReadonlyMap<string, FoundFile & { isOfGuest: boolean }>;

/** The most files to look up for one request. More than can go along, as some may not fit. */
const MAX_LOOK_UPS = 20;

/**
 * Asks Slack about the files of a request of which messages gave only part. Of too many, the rest
 * stay as they are.
 */
export async function lookUpFiles(
  deps: { fileReader: Pick<FileReader, "lookUp">; directory: Pick<Directory, "admission"> },
  request: Parameters<typeof filesOf>[0],
): Promise<LookedUp> {
  const unknown = filesOf(request)
    .filter(({ isPartial }) => isPartial === true)
    .slice(0, MAX_LOOK_UPS);
  const lookUp = async (file: SharedFile) => [file.id, await deps.fileReader.lookUp(file)] as const;
  const found = await Promise.all(unknown.map(lookUp));
  const by = ({ userId }: FoundFile) => ({ authorId: userId ?? null });
  const isRefused = await refusedOf(
    deps.directory,
    found.map(([, each]) => by(each)),
  );
  return new Map(found.map(([id, each]) => [id, { ...each, isOfGuest: isRefused(by(each)) }]));
}

/** The files as Slack described them then. Null for those of people who may not use the app. */
export function knownOf(looked: LookedUp): ReadonlyMap<string, SharedFile | null> {
  return new Map([...looked].map(([id, { file, isOfGuest }]) => [id, isOfGuest ? null : file]));
}

/**
 * Reads what goes along with a turn that is about to be sent: its thread, the message that asked,
 * and what Slack says of their files. `wait` means that Slack has to be asked again soon.
 */
export async function readAlong(
  deps: Parameters<typeof threadOfRequest>[0] & Pick<TaskDeps, "messageReader" | "fileReader">,
  turn: Turn,
  { job, withheld }: { job: KnownJob | null; withheld: readonly string[] },
  payload: TurnPayload,
): Promise<{ along: Along; looked: LookedUp } | { wait: TaskEnd }> {
  const context = await threadOfRequest(deps, turn, { job, withheld }, payload);
  if (context !== undefined && "wait" in context) return context;
  const asked = await askedMessage(deps, turn.request);
  const beside = await besideOfRequest(deps, { ...turn.request, ...asked });
  const along = { context, beside, files: asked?.files, withheld, isLookedUp: asked !== undefined };
  const looked = await lookUpFiles(deps, withAlong(turn, along).request);
  return { along: { ...along, knownFiles: knownOf(looked) }, looked };
}

/** The longest that a request waits for files that Slack doesn't give yet. */
const PATIENCE_MS = 20_000;
const FIRST_PAUSE_MS = 1_000;

/**
 * What goes along with a turn. `wait` means that Slack has to be asked again soon. `gone` means
 * that a file which was sent before isn't available now: without it, the same idempotency key would
 * carry a different request.
 */
type FilesAlong = { files: TurnFiles | undefined; attachments: Attachment[] } | { wait: TaskEnd } | "gone";

/**
 * Downloads the files that go along with a turn, and notes which they are. A turn that was already
 * being sent gets the same files again.
 */
export async function filesOfRequest(
  deps: Pick<TaskDeps, "fileReader" | "clock">,
  turn: Turn,
  { takesFiles, looked }: { takesFiles: boolean; looked: LookedUp },
  payload: TurnPayload,
): Promise<FilesAlong> {
  const all = filesOf(turn.request);
  if (all.length === 0) return { files: undefined, attachments: [] };
  if (turn.stage.name === "submitting") return filesSentBefore(deps, turn, all);
  const { taken, unknown } = sortFiles(all, takesFiles);
  const awaited = unknown.filter(({ id }) => looked.get(id)?.isFinal === false).map(({ id }) => id);
  const before = payload.awaitedFiles?.ids ?? [];
  const againMs = againAfterMs(payload, deps.clock.now());
  const contents = new Map<SharedFile, Uint8Array | "too-large" | Unfetched>();
  // What was missing is asked for first, so that the others aren't downloaded for each try.
  for (const file of taken.toSorted(
    (a, b) => Number(before.includes(b.id)) - Number(before.includes(a.id)),
  )) {
    if (againMs !== null && awaited.length > 0) break;
    const content = await deps.fileReader.read(file);
    if (content === "later") awaited.push(file.id);
    contents.set(file, content);
  }
  if (againMs !== null && awaited.length > 0) {
    const now = deps.clock.now();
    const awaitedFiles = {
      sinceMs: now,
      ...payload.awaitedFiles,
      ids: [...new Set([...awaited, ...before])],
    };
    return { wait: { kind: "wait", dueAt: now + againMs, payload: { ...payload, awaitedFiles } } };
  }
  const attachments: Attachment[] = [];
  const sent: SharedFile[] = [];
  const unfetched = new Set(unknown);
  let left: number = ATTACHMENT_LIMITS.totalBytes;
  for (const file of taken) {
    const content = contents.get(file);
    if (content === "later" || content === "never") unfetched.add(file);
    if (!isGood(file, content, left)) continue;
    left -= content.length;
    sent.push(file);
    attachments.push(attachmentOf(file, content));
  }
  const unsent = all.filter((file) => !sent.includes(file) && !unfetched.has(file));
  const named = (files: readonly SharedFile[]) => files.map(({ id, name }) => ({ id, name }));
  const missing = unfetched.size === 0 ? {} : { unfetched: named([...unfetched]) };
  return { files: { sent: named(sent), unsent: named(unsent), ...missing }, attachments };
}

/** The pauses grow from one second. Null if the request has waited long enough. */
function againAfterMs({ awaitedFiles }: TurnPayload, now: number): number | null {
  const waitedMs = awaitedFiles === undefined ? 0 : Math.max(0, now - awaitedFiles.sinceMs);
  if (waitedMs >= PATIENCE_MS) return null;
  return Math.min(Math.max(FIRST_PAUSE_MS, waitedMs), PATIENCE_MS - waitedMs);
}

async function filesSentBefore(
  { fileReader }: Pick<TaskDeps, "fileReader">,
  { files }: Turn,
  all: readonly SharedFile[],
): Promise<FilesAlong> {
  const sent = new Set(files?.sent.map(({ id }) => id) ?? []);
  const attachments: Attachment[] = [];
  let left: number = ATTACHMENT_LIMITS.totalBytes;
  for (const file of all.filter(({ id }) => sent.has(id))) {
    const content = await fileReader.read(file);
    if (!isGood(file, content, left)) return "gone";
    left -= content.length;
    attachments.push(attachmentOf(file, content));
  }
  return { files, attachments };
}

function isGood(
  file: SharedFile,
  content: Uint8Array | "too-large" | Unfetched | undefined,
  leftBytes: number,
): content is Uint8Array {
  return (
    typeof content === "object" &&
    content.length > 0 &&
    content.length <= leftBytes &&
    isOfMediaType(file.mediaType, content)
  );
}

function attachmentOf({ name, mediaType }: SharedFile, content: Uint8Array): Attachment {
  const cut = startOf(name, ATTACHMENT_LIMITS.nameChars).toWellFormed();
  return { name: cut, mediaType, data: Buffer.from(content).toString("base64") };
}
