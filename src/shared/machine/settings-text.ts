import { readFileSync } from "node:fs";
import { codeOrNameOf } from "../errors.ts";

/** The text of a settings file, or what is wrong with the file as a whole, with what to do. */
export type SettingsText = { text: string; fault: null } | { text: null; fault: string };

/** Reads a file that people write, without its byte order mark. */
export function readSettingsText(path: string): SettingsText {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (thrown) {
    const code = codeOrNameOf(thrown);
    const advice =
      code === "EISDIR"
        ? "It is a folder, as Docker makes one in place of a missing file. Remove it, and write the file."
        : "Check that it is there, and that this user may read it.";
    return { text: null, fault: `Can't read ${path} (${code}). ${advice}` };
  }
  // Every second byte of plain letters is zero there.
  if (bytes.includes(0)) {
    const advice = "Save it as UTF-8, in PowerShell with Set-Content -Encoding utf8.";
    return { text: null, fault: `${path} isn't UTF-8 text. ${advice}` };
  }
  return { text: bytes.toString("utf8").replace(/^\uFEFF/, ""), fault: null };
}
