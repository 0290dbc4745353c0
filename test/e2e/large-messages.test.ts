import { describe, expect, it } from "vitest";
import type { MessageAttachment } from "../../emulators/slack/index.ts";
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
    expect(prompt.length).toBeLessThan(45_000);
    await world.until(() =>
      world.read(DOCS).some((text) => /Left out: [\d,]+ characters of forwarded messages/.test(text)),
    );
  });

  it("of more than 512 KiB is refused with one log line", async () => {
    await using world = await World.start();
    const attachments = forwards(100, 600_000);
    const { status } = await world.slack.person(ANA).mention({ channel: DOCS, text: "fix it", attachments });
    expect(status).toBe(413);
    expect(world.logger.text("warn").match(/the body is too large/g)).toHaveLength(1);
  });
});
