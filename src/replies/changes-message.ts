import type { KnownBlock, RichTextBlock } from "@slack/types";
import type { MessageOf } from "../core/ports/notifier.ts";
import { diffLines, diffText, fileLines, sizeOf } from "../core/text/change-text.ts";
import { turnPrLink } from "../core/turn/turn.ts";
import { section, NAME_MAX, type Presentation, type Rendered } from "./blocks.ts";
import { pullRequestLink } from "./links.ts";
import { cutEscaped, escapeMrkdwn } from "./mrkdwn.ts";

/** What a job changes, or why that can't be shown. */
export function changesMessage(
  { turn, of }: MessageOf<"changes">,
  { httpOrigins, contact }: Pick<Presentation, "httpOrigins" | "contact">,
): Rendered {
  const link = pullRequestLink(turnPrLink(turn), httpOrigins);
  const pr = link === null ? null : `<${escapeMrkdwn(link.url)}|${cutEscaped(link.label, NAME_MAX)}>`;
  const said = (text: string): Rendered => ({ text, blocks: [section(text)] });
  switch (of.kind) {
    case "reading":
      return said("⏳ Reading the changes…");
    case "gone":
      return said(`The agent no longer has this change.${pr === null ? "" : ` Look at ${pr}.`}`);
    case "unreadable":
      return said(`I couldn't read the changes. Try again in a minute, or contact ${contact}.`);
    case "read": {
      const { diff, rest } = of;
      const size = diffText(sizeOf(diff));
      const title = pr === null ? `*Changes:* ${size}` : `*Changes in ${pr}:* ${size}`;
      const where = pr === null ? "The rest is on the branch." : `The rest is on the page of ${pr}.`;
      const inFile = `I sent you the rest as a file.${diff.isCut ? ` It isn't all of it. ${where}` : ""}`;
      return {
        text: title,
        blocks: [
          section(title),
          preformatted(fileLines(diff)),
          preformatted(diffLines(diff)),
          rest === null ? null : section(rest === "page" ? where : inFile),
        ].filter((block) => block !== null),
      };
    }
  }
}

/** Untrusted lines, in which nothing is markup. */
function preformatted(lines: readonly string[]): KnownBlock | null {
  const text = lines.join("\n");
  if (text.trim() === "") return null;
  const block: RichTextBlock = {
    type: "rich_text",
    elements: [{ type: "rich_text_preformatted", elements: [{ type: "text", text }] }],
  };
  return block;
}
