// @module-tag all

import { describe, expect, it } from "vitest";
import { visibleText } from "../../../world/slack/index.ts";

describe("visible text", () => {
  it("is what a person reads in a message without blocks", () => {
    const text = "<@U1> changed &lt;b&gt; in <https://x.test/?a=1&amp;b=2|the guide>, see <#C1|docs> <!here>";
    expect(visibleText({ text }, (id) => (id === "U1" ? "ada" : undefined))).toBe(
      "@ada changed <b> in the guide (https://x.test/?a=1&b=2), see #docs @here",
    );
  });

  it("is what a person reads in blocks, and not the fallback", () => {
    const seen = visibleText(
      {
        text: "fallback",
        blocks: [
          { type: "header", text: { type: "plain_text", text: "A &amp; B" } },
          {
            type: "section",
            text: { type: "mrkdwn", text: "*Done* &amp; dusted" },
            accessory: { type: "button", text: { type: "plain_text", text: "Open" } },
          },
          {
            type: "rich_text",
            elements: [
              {
                type: "rich_text_quote",
                elements: [
                  { type: "text", text: "<!channel> " },
                  { type: "user", user_id: "U1" },
                ],
              },
            ],
          },
          {
            type: "actions",
            elements: [
              { type: "button", text: { type: "plain_text", text: "Try again" } },
              { type: "button", text: { type: "plain_text", text: "Stop" } },
            ],
          },
        ],
      },
      () => "ada",
    );
    expect(seen).toBe(
      ["A &amp; B", "*Done* & dusted", "[Open]", "<!channel> @ada", "[Try again] [Stop]"].join("\n"),
    );
  });
});
