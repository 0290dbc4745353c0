import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { cut, startOf } from "../../../core/text.ts";
import { printableText } from "../../printable-text.ts";
import type { Redact } from "../redaction.ts";
import { MAX_SUMMARY_LENGTH } from "./agent.ts";
import type { AcpPermissions } from "./acp-permissions.ts";
import type { ProgressLines } from "./progress.ts";

const MAX_MESSAGE_LENGTH = 64_000;

/** Turns an ACP session's updates into progress lines, and keeps the agent's last message. */
export class AcpUpdates {
  readonly #progress: ProgressLines;
  readonly #permissions: AcpPermissions;
  #message = "";
  #messageId: string | undefined;
  #isOpen = false;

  constructor(progress: ProgressLines, permissions: AcpPermissions) {
    this.#progress = progress;
    this.#permissions = permissions;
  }

  take(update: SessionUpdate): void {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        if (update.content.type === "text") this.#addText(update.content.text, update.messageId ?? undefined);
        return;
      case "tool_call":
        this.#permissions.note(update);
        this.#closeMessage();
        this.#progress.line(update.title);
        return;
      case "tool_call_update":
        this.#permissions.note(update);
        this.#closeMessage();
        if (update.status === "failed") this.#progress.line(`failed: ${update.title ?? update.toolCallId}`);
        return;
      case "plan":
        this.#closeMessage();
        for (const { status, content } of update.entries.slice(0, 20)) {
          if (status === "in_progress") this.#progress.line(`plan: ${content}`);
        }
        return;
      default:
        // Thoughts, modes, usage: nothing for the operator.
        return;
    }
  }

  /** The agent's last message, without secrets; null if it sent none. */
  summary(redact: Redact): string | null {
    const text = cut(printableText(redact(this.#message)).trim(), MAX_SUMMARY_LENGTH);
    return text === "" ? null : text;
  }

  #addText(text: string, messageId: string | undefined): void {
    const isNext = !this.#isOpen || messageId !== this.#messageId;
    if (isNext && text.trim() === "") return;
    if (isNext) {
      this.#progress.flush();
      this.#message = "";
    }
    this.#isOpen = true;
    this.#messageId = messageId;
    this.#message = startOf(this.#message + text, MAX_MESSAGE_LENGTH);
    this.#progress.write(text);
  }

  #closeMessage(): void {
    this.#isOpen = false;
    this.#progress.flush();
  }
}
