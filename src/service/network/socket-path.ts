import { randomBytes } from "node:crypto";
import { join } from "node:path";

/** Where the sockets are in the data folder. */
export const SOCKETS_FOLDER = "net";
/** What the path of a socket may be long, without the final zero (unix(7)). */
export const MAX_SOCKET_PATH_BYTES = 107;
/** So that the sockets in it can be listened at. */
export const MAX_DATA_DIR_BYTES = MAX_SOCKET_PATH_BYTES - newSocketPath(`/${SOCKETS_FOLDER}`).length;

/** A path in `folder` that no other socket has. */
export function newSocketPath(folder: string): string {
  return join(folder, randomBytes(6).toString("base64url"));
}
