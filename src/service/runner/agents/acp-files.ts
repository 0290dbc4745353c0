import type {
  ReadTextFileRequest,
  ReadTextFileResponse,
  WriteTextFileRequest,
  WriteTextFileResponse,
} from "@agentclientprotocol/sdk";
import { RequestError } from "@agentclientprotocol/sdk";
import { realpath } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { isReallyInside, openInside, openInsideForWrite, OutsideTreeError } from "../confined-files.ts";

const MAX_FILE_BYTES = 10 * 1024 * 1024;

/** The protocol's file methods, for regular files inside the tree and no others. Reading follows links that stay inside. */
export function createAcpFiles(tree: string) {
  return {
    async read({ path, line, limit }: ReadTextFileRequest): Promise<ReadTextFileResponse> {
      return answer(path, async () => {
        if (!(await isReallyInside(tree, path))) throw new OutsideTreeError("The path leads out of the tree");
        const { file, stats } = await openInside(tree, await realpath(path));
        await using _closing = file;
        if (stats.size > MAX_FILE_BYTES) throw new OutsideTreeError("The file is too large");
        const content = await file.readFile("utf8");
        if (typeof line !== "number" && typeof limit !== "number") return { content };
        const lines = content.split("\n");
        const from = Math.max(0, (line ?? 1) - 1);
        return { content: lines.slice(from, from + (limit ?? lines.length)).join("\n") };
      });
    },

    async write({ path, content }: WriteTextFileRequest): Promise<WriteTextFileResponse> {
      return answer(path, async () => {
        if (Buffer.byteLength(content) > MAX_FILE_BYTES)
          throw new OutsideTreeError("The content is too large");
        const file = await openInsideForWrite(tree, path);
        await using _closing = file;
        await file.truncate(0);
        await file.writeFile(content);
        return {};
      });
    },
  };
}

async function answer<Result>(path: string, act: () => Promise<Result>): Promise<Result> {
  if (!isAbsolute(path)) throw RequestError.invalidParams(undefined, "The path must be absolute");
  try {
    return await act();
  } catch (error) {
    if (error instanceof OutsideTreeError) throw RequestError.invalidParams(undefined, error.message);
    // The error's own words would tell about the machine.
    throw RequestError.resourceNotFound(path);
  }
}
