// @module-tag all

import { describe, expect, it } from "vitest";
import type { MessageAttachment } from "../../world/slack/index.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

/** Forwards of one message, `count` of them, together about so many characters. */
function forwards(count: number, chars: number): MessageAttachment[] {
  const text = "The menu moved. ".repeat(chars / count / 16);
  return Array.from({ length: count }, (_, id) => ({
    id,
    is_share: true,
    author_id: BEN,
    ts: `17643000${String(id).padStart(2, "0")}.000100`,
    text,
    fallback: "",
  }));
}

describe("a large message", () => {
  it("of 100 forwards is a request, and the thread says how much was left out", async () => {
    await using world = await World.start();
    const attachments = forwards(100, 450_000);
    const { status } = await world.slack.person(ANA).mention({ channel: DOCS, text: "fix it", attachments });
    expect(status).toBe(200);
    const { prompt } = await world.until(() => world.service.creates[0]);
    expect(prompt).toContain("> The menu moved.");
    expect(Buffer.byteLength(prompt)).toBeLessThan(64 * 1024);
    await world.until(() =>
      world.read(DOCS).some((text) => /Left out: [\d,]+ characters of forwarded messages/.test(text)),
    );
  });

  it.each([
    ["whose text takes many bytes", 200, "漢".repeat(700), ""],
    ["of many lines", 100, "漢\n".repeat(900), ""],
    ["whose authors have long names", 200, "漢", "漢".repeat(200)],
    ["of emoji", 200, "🦊".repeat(100), "🦊".repeat(100)],
  ])("of forwards %s fits into a prompt, with the longest instructions", async (_, count, text, name) => {
    await using world = await World.start();
    const attachments = forwards(count, 0).map((each, n) => ({
      ...each,
      ts: `1764300${String(n).padStart(3, "0")}.000100`,
      text,
      author_id: name === "" ? BEN : "",
      author_name: name,
    }));
    const instructions = "漢".repeat(4_000);
    await world.slack.person(ANA).mention({ channel: DOCS, text: instructions, attachments });
    const { prompt } = await world.until(() => world.service.creates[0]);
    expect(prompt.startsWith(`${instructions}\n`)).toBe(true);
    expect(Buffer.byteLength(prompt)).toBeLessThan(64 * 1024);
    expect(prompt).toMatch(/^> \[left out: \d+ forwarded messages\]$/m);
  });

  it("of more than 512 KiB is refused with one log line", async () => {
    await using world = await World.start();
    const attachments = forwards(100, 600_000);
    const { status } = await world.slack.person(ANA).mention({ channel: DOCS, text: "fix it", attachments });
    expect(status).toBe(413);
    expect(world.logger.text("warn").match(/the body is too large/g)).toHaveLength(1);
  });
});
