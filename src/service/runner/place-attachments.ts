import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { TurnAttachment } from "../turn-runner.ts";
import { TurnFailedError } from "./run-error.ts";

/** An attachment of which the agent has a copy. `path` is out of its reach, `inside` is the copy as it sees it. */
export type PlacedAttachment = TurnAttachment & { inside: string };

const MAX_NAME_LENGTH = 100;

/** Where attachments are in a folder for temporary files. */
export function attachmentsFolder(tmp: string): string {
  return join(tmp, "attachments");
}

/** Copies attachments into an agent's folder for temporary files, before the agent starts. `insideTmp`: that folder as it sees it. */
export async function placeAttachments(
  attachments: readonly TurnAttachment[],
  tmp: string,
  insideTmp: string,
): Promise<PlacedAttachment[]> {
  if (attachments.length === 0) return [];
  const folder = attachmentsFolder(tmp);
  await mkdir(folder, { mode: 0o700 });
  return await Promise.all(
    attachments.map(async (attachment, index) => {
      const name = `${index + 1}-${safeName(attachment.name)}`;
      await copyFile(attachment.path, join(folder, name)).catch((error: unknown) => {
        if (error instanceof Error && "code" in error && error.code === "ENOENT") throw gone();
        throw error;
      });
      return { ...attachment, inside: join(attachmentsFolder(insideTmp), name) };
    }),
  );
}

/** The end of a name has its extension. */
function safeName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._-]+/g, "_").slice(-MAX_NAME_LENGTH);
}

function gone(): TurnFailedError {
  return new TurnFailedError("The files that came with the request are gone. Attach them again.");
}
