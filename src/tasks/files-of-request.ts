import { ATTACHMENT_LIMITS, isOfMediaType } from "../core/attachment.ts";
import type { Attachment } from "../core/attachment.ts";
import type { SharedFile } from "../core/request.ts";
import { filesOf, sortFiles } from "../core/shared-files.ts";
import { startOf } from "../core/text.ts";
import type { Turn, TurnFiles } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";

/**
 * The files that go along with a turn, downloaded, and a note of which they are. A turn that was on its way gets the same ones again; null: one of
 * them can't be had now, and without it the words under its idempotency key would be others.
 */
export async function filesOfRequest(
  deps: Pick<TaskDeps, "fileReader">,
  turn: Turn,
  capabilities: readonly string[],
): Promise<{ files: TurnFiles | undefined; attachments: Attachment[] } | null> {
  const { request, stage } = turn;
  const all = filesOf(request);
  if (all.length === 0) return { files: undefined, attachments: [] };
  const isSent = stage.name === "submitting";
  const sentBefore = new Set(turn.files?.sent.map(({ id }) => id) ?? []);
  const { taken } = isSent
    ? { taken: all.filter(({ id }) => sentBefore.has(id)) }
    : sortFiles(all, capabilities.includes("attachments"));
  const attachments: Attachment[] = [];
  const sent: SharedFile[] = [];
  let left: number = ATTACHMENT_LIMITS.totalBytes;
  for (const file of taken) {
    const content = await deps.fileReader.read(request.teamId, file);
    const isGood =
      content !== null &&
      content.length > 0 &&
      content.length <= left &&
      isOfMediaType(file.mediaType, content);
    if (!isGood && isSent) return null;
    if (!isGood) continue;
    left -= content.length;
    sent.push(file);
    const name = startOf(file.name, ATTACHMENT_LIMITS.nameChars).toWellFormed();
    attachments.push({
      name,
      mediaType: file.mediaType,
      data: Buffer.from(content).toString("base64"),
    });
  }
  if (isSent) return { files: turn.files, attachments };
  const unsent = all.filter((file) => !sent.includes(file));
  const named = (files: readonly SharedFile[]) => files.map(({ id, name }) => ({ id, name }));
  return { files: { sent: named(sent), unsent: named(unsent) }, attachments };
}
