import type { HygieneRule } from "../../../config/hygiene-rules.ts";
import type { Rule } from "../rule.ts";
import { blockMark } from "./block-marks.ts";
import { comment } from "./comments.ts";
import { openTag, script } from "./elements.ts";
import { openContainer, openFence } from "./fences.ts";
import { openMark, undefinedReference } from "./leftover.ts";
import { controlCharacter, encoding } from "./letters.ts";
import { conflictMarkers, toolMarks } from "./marks.ts";
import { frontMatter } from "./matter.ts";
import { quotedName } from "./names.ts";
import { blankLine, headingJump, lostPage } from "./shape.ts";
import { shellLetters } from "./shell-letters.ts";
import { placeholder, sandboxPath } from "./stand-ins.ts";
import { table } from "./tables.ts";
import { chatTalk, restUnchanged } from "./talk.ts";
import { paragraphTwice, sectionTwice } from "./twice.ts";

/** The rules by the names that settings use. */
export const RULES: Readonly<Record<HygieneRule, Rule>> = {
  "conflict-markers": conflictMarkers,
  "tool-marks": toolMarks,
  "chat-talk": chatTalk,
  "rest-unchanged": restUnchanged,
  placeholder,
  "sandbox-path": sandboxPath,
  "quoted-name": quotedName,
  comment,
  script,
  "control-character": controlCharacter,
  encoding,
  "front-matter": frontMatter,
  "lost-page": lostPage,
  "open-fence": openFence,
  "open-container": openContainer,
  "open-tag": openTag,
  "open-mark": openMark,
  "block-mark": blockMark,
  "heading-jump": headingJump,
  "blank-line": blankLine,
  table,
  "undefined-reference": undefinedReference,
  "shell-letters": shellLetters,
  "paragraph-twice": paragraphTwice,
  "section-twice": sectionTwice,
};
