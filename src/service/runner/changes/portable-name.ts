/** Names of devices, on Windows, whatever their extension. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\.|$)/i;
const NOT_ON_WINDOWS = /[<>:"|?*\\]|[. ]$/;
/** Nobody sees these, and some turn around what stands beside them. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const MAX_BYTES = 255;

/** Whether every system can hold a file of this path under these names, and people see what it is called. */
export function isPortable(path: string): boolean {
  return path
    .split("/")
    .every(
      (name) =>
        !DEVICE.test(name) &&
        !NOT_ON_WINDOWS.test(name) &&
        !UNSEEN.test(name) &&
        Buffer.byteLength(name) <= MAX_BYTES,
    );
}
