// @module-tag all
// @module-tag chromium
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Browser } from "playwright-core";
import type { SlackMessage } from "../../../world/slack/index.ts";
import { startBrowser } from "../../support/browser.ts";
import { openPage, startWorkspace } from "./setup.ts";

type World = Awaited<ReturnType<typeof startWorkspace>>;
type Opened = Awaited<ReturnType<typeof openPage>>;

describe("in a browser", () => {
  let browser: Browser;
  let world: World;
  let page: Opened;

  beforeAll(async () => {
    browser = await startBrowser();
    world = await startWorkspace({ eventRetryDelaysMs: [] });
    page = await openPage(browser, world.page, { as: world.people.mara, channel: world.channels.docs });
  });

  afterAll(async () => {
    await browser.close();
    await world[Symbol.asyncDispose]();
  });

  /** Posts as the bot and returns what the page makes of it. */
  async function rendered(message: { text?: string; blocks?: unknown[] }): Promise<string> {
    const { workspace } = world.slack;
    const posted = workspace.post({
      channel: world.channels.docs,
      user: workspace.bot.userId,
      isFromApp: true,
      text: message.text ?? "fallback",
    });
    // Past the checks: the page must also stand what the Slack side would refuse today.
    if (message.blocks !== undefined) posted.blocks = message.blocks as NonNullable<SlackMessage["blocks"]>;
    workspace.changed();
    const { ts } = posted;
    const content = page.tab.locator(`#conversation [data-ts="${ts}"] .content`);
    await content.waitFor();
    return (await content.innerHTML())
      .replaceAll(/ (?:target|rel|title|data-focus)="[^"]*"/g, "")
      .replace(/^<div class="block">([\s\S]*)<\/div>$/, "$1");
  }

  const link = (url: string, label = url) => `<a href="${url}">${label}</a>`;

  it.each<[string, string, string]>([
    [
      "bold, italic, strike and code",
      "*b* _i_ ~s~ `c`",
      "<strong>b</strong> <em>i</em> <s>s</s> <code>c</code>",
    ],
    ["marks in marks", "*b _i_ ~s~*", "<strong>b <em>i</em> <s>s</s></strong>"],
    ["marks beside punctuation", "(*b*), “_i_”.", "(<strong>b</strong>), “<em>i</em>”."],
    ["no marks inside words", "a*b*c snake_case_name 2*3*4", "a*b*c snake_case_name 2*3*4"],
    ["no marks around spaces", "2 * 3 * 4, * no *", "2 * 3 * 4, * no *"],
    ["no marks over lines", "*a\nb*", "*a\nb*"],
    ["no marks in code", "`*b* _i_ :tada:`", "<code>*b* _i_ :tada:</code>"],
    ["a code block", "a\n```\n*x* &lt;y&gt;\n  z\n```\nb", "a<pre>*x* &lt;y&gt;\n  z</pre>b"],
    ["a quotation", "a\n&gt; q *b*\n&gt; r\nc", "a<blockquote>q <strong>b</strong>\nr</blockquote>c"],
    ["a quotation written with a bare sign", "&gt;q\n>r", "<blockquote>q\nr</blockquote>"],
    ["a quotation to the end", "&gt;&gt;&gt; q\nr", "<blockquote>q\nr</blockquote>"],
    ["entities, once", "&lt;b&gt; &amp;lt; &amp;amp; &quot;", "&lt;b&gt; &amp;lt; &amp;amp; &amp;quot;"],
    [
      "no HTML",
      "<b>x</b> <img src=x onerror=alert(1)>",
      '<span class="no-link">b</span>x<span class="no-link">/b</span> <span class="no-link">img src=x onerror=alert(1)</span>',
    ],
    [
      "a link",
      "<https://x.test/?a=1&amp;b=2|the *guide*>",
      link("https://x.test/?a=1&amp;b=2", "the *guide*"),
    ],
    ["a link without a label", "<https://x.test/a_b_c>", link("https://x.test/a_b_c")],
    [
      "a bare address, without the full stop",
      "see https://x.test/a_b.",
      `see ${link("https://x.test/a_b")}.`,
    ],
    ["no link that could run", "<javascript:alert(1)|click>", '<span class="no-link">click</span>'],
    ["an unknown person by id", "<@U0NOBODY>", '<span class="mention">@U0NOBODY</span>'],
    [
      "broadcasts",
      "<!here> <!channel>",
      '<span class="mention mention-me">@here</span> <span class="mention mention-me">@channel</span>',
    ],
    ["a date by its fallback", "<!date^1^{no_such}|1 January>", "1 January"],
    ["an address in escaped brackets", "&lt;https://x.test/a&gt;", `&lt;${link("https://x.test/a")}&gt;`],
    ["emoji by name", ":tada: :white_check_mark: :no_such_emoji: 10:30:45", "🎉 ✅ :no_such_emoji: 10:30:45"],
  ])("mrkdwn: %s", async (_name, text, html) => {
    expect(await rendered({ text })).toBe(html);
  });

  it("mrkdwn: a date as the reader's clock has it", async () => {
    const time = new Intl.DateTimeFormat("en-US", { timeStyle: "short" });
    const now = Date.now();
    const date = (ms: number, format: string) => `<!date^${Math.floor(ms / 1000)}^${format}|UTC>`;
    expect(await rendered({ text: date(now, "{date_short_pretty} at {time}") })).toBe(
      `today at ${time.format(now)}`,
    );
    const old = Date.UTC(2026, 0, 5, 12);
    expect(await rendered({ text: date(old, "{date_short_pretty}, {date_short} {time}") })).toBe(
      `Jan 5, 2026, Jan 5, 2026 ${time.format(old)}`,
    );
  });

  it("mrkdwn: people and channels by name", async () => {
    const { people, channels } = world;
    expect(await rendered({ text: `<@${people.theo}> <@${people.mara}> <#${channels.support}>` })).toBe(
      '<span class="mention">@Theo</span> <span class="mention mention-me">@Mara</span> ' +
        '<button type="button" class="mention mention-link">#support</button>',
    );
  });

  it("a menu behind an ellipsis, by keyboard too", async () => {
    const option = (text: string) => ({ text: { type: "plain_text", text }, value: text });
    const options = [option("Mention me in the result"), option("Don't mention me")];
    await rendered({
      blocks: [
        { type: "actions", block_id: "b", elements: [{ type: "overflow", action_id: "more", options }] },
      ],
    });
    const button = page.tab.getByRole("button", { name: "More actions" }).last();
    await button.focus();
    await page.tab.keyboard.press("Enter");
    expect(await page.tab.getByRole("menuitem").allInnerTexts()).toEqual(options.map(({ value }) => value));
    await page.tab.keyboard.press("Escape");
    expect(await page.tab.getByRole("menuitem").count()).toBe(0);
  });

  it("plain_text is never markup, and verbatim mrkdwn makes no links of its own", async () => {
    const text = "*b* <@U1> &lt; <b>x</b> https://x.test :tada:";
    expect(
      await rendered({
        blocks: [
          { type: "section", text: { type: "plain_text", text, emoji: false } },
          { type: "section", text: { type: "mrkdwn", text: "https://x.test", verbatim: true } },
        ],
      }),
    ).toBe(
      '<div class="block block-section"><div class="section-text"><div>*b* &lt;@U1&gt; &amp;lt; &lt;b&gt;x&lt;/b&gt; https://x.test :tada:</div></div></div>' +
        '<div class="block block-section"><div class="section-text"><div>https://x.test</div></div></div>',
    );
  });

  it("fields, accessory, header, context, divider and images", async () => {
    const html = await rendered({
      blocks: [
        { type: "header", text: { type: "plain_text", text: "Head & *tail*" } },
        {
          type: "section",
          fields: [
            { type: "mrkdwn", text: "*One*" },
            { type: "plain_text", text: "*Two*" },
          ],
          accessory: { type: "image", image_url: "https://x.test/a.png", alt_text: "A chart" },
        },
        { type: "divider" },
        {
          type: "context",
          elements: [
            { type: "image", image_url: "https://x.test/b.png", alt_text: "Small" },
            { type: "mrkdwn", text: "_note_" },
          ],
        },
        {
          type: "image",
          image_url: "https://x.test/c.png",
          alt_text: "Big",
          title: { type: "plain_text", text: "T" },
        },
      ],
    });
    expect(html).toContain('role="heading" aria-level="4">Head &amp; *tail*</div>');
    expect(html).toContain('<div class="fields"><div><strong>One</strong></div><div>*Two*</div></div>');
    expect(html).toContain('role="img" aria-label="A chart"');
    expect(html).toContain('<hr class="block">');
    expect(html).toContain("<span><em>note</em></span>");
    expect(html).toContain("<figcaption>T</figcaption>");
    expect(html).not.toMatch(/<img|x\.test/);
  });

  it("rich text: all its elements and styles", async () => {
    const style = { bold: true, italic: true };
    const html = await rendered({
      blocks: [
        {
          type: "rich_text",
          elements: [
            {
              type: "rich_text_section",
              elements: [
                { type: "text", text: "*not* <@U1>" },
                { type: "text", text: "both", style },
                { type: "text", text: "c", style: { code: true, strike: true, underline: true } },
                { type: "link", url: "https://x.test", text: "site" },
                { type: "link", url: "javascript:1" },
                { type: "user", user_id: world.people.theo },
                { type: "usergroup", usergroup_id: "S1" },
                { type: "broadcast", range: "here" },
                { type: "emoji", name: "odd", unicode: "1f680" },
                { type: "emoji", name: "unheard_of" },
              ],
            },
            { type: "rich_text_quote", elements: [{ type: "text", text: "<!channel>" }] },
            { type: "rich_text_preformatted", elements: [{ type: "text", text: "a\n b" }] },
            {
              type: "rich_text_list",
              style: "ordered",
              offset: 2,
              indent: 1,
              elements: [{ type: "rich_text_section", elements: [{ type: "text", text: "third" }] }],
            },
          ],
        },
      ],
    });
    expect(html).toBe(
      '<div class="block block-rich"><div class="rich-section">*not* &lt;@U1&gt;<em><strong>both</strong></em>' +
        "<u><s><code>c</code></s></u>" +
        `${link("https://x.test", "site")}<span class="no-link">javascript:1</span>` +
        '<span class="mention">@Theo</span><span class="mention">@S1</span><span class="mention mention-me">@here</span>' +
        "🚀:unheard_of:</div><blockquote>&lt;!channel&gt;</blockquote><pre>a\n b</pre>" +
        '<ol class="rich-list indent-1" start="3"><li>third</li></ol></div>',
    );
  });

  it("names a block that it cannot draw, and never drops it", async () => {
    expect(
      await rendered({
        blocks: [
          { type: "markdown", text: "# x" },
          { type: "video", title: "x" },
          { type: "actions", block_id: "a", elements: [{ type: "datepicker", action_id: "d" }] },
        ],
      }),
    ).toBe(
      '<div class="unsupported">unsupported block: markdown</div><div class="unsupported">unsupported block: video</div>' +
        '<div class="block block-actions"><div class="unsupported">unsupported block: datepicker</div></div>',
    );
  });

  it("asks before an action that wants to be confirmed, and does nothing when denied", async () => {
    const { slack } = world;
    const confirm = {
      title: { type: "plain_text", text: "Really?" },
      text: { type: "mrkdwn", text: "It *stays*." },
      confirm: { type: "plain_text", text: "Do it" },
      deny: { type: "plain_text", text: "Rather not" },
      style: "danger",
    };
    await rendered({
      blocks: [
        {
          type: "actions",
          block_id: "b",
          elements: [
            { type: "button", action_id: "risky", text: { type: "plain_text", text: "Risky" }, confirm },
          ],
        },
      ],
    });
    const deliveries: string[] = [];
    await page.tab.route("**/api/act", (route) => {
      deliveries.push(String(JSON.parse(route.request().postData() ?? "{}").act.kind));
      return route.continue();
    });
    const { tab } = page;
    await tab.getByRole("button", { name: "Risky" }).click();
    const dialog = tab.getByRole("dialog", { name: "Really?" });
    expect(await dialog.locator("strong").textContent()).toBe("stays");
    await dialog.getByRole("button", { name: "Rather not" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(deliveries.filter((kind) => kind === "click")).toEqual([]);
    await tab.getByRole("button", { name: "Risky" }).click();
    // The message is updated meanwhile, which gives its blocks new names.
    const shown = slack.workspace.log(world.channels.docs).visible().at(-1);
    shown?.blocks?.forEach((block) => (block.block_id = "another"));
    await dialog.getByRole("button", { name: "Do it" }).click();
    // No app listens here, and the page says so.
    await tab.getByRole("alert").getByText("dispatch_failed").waitFor();
    expect(deliveries.filter((kind) => kind === "click")).toEqual(["click"]);
    await tab.unroute("**/api/act");
    expect(slack.calls).toEqual([]);
  });

  it("takes away what was deleted, and leaves a tombstone where a thread hangs on it", async () => {
    const { slack, channels } = world;
    const { workspace } = slack;
    const feed = page.tab.getByRole("feed");
    const lone = workspace.say({ channel: channels.docs, user: world.people.theo, text: "soon gone" });
    await feed.getByText("soon gone").waitFor();
    workspace.deleteMessage(channels.docs, lone.ts);
    await feed.getByText("soon gone").waitFor({ state: "detached" });
    const root = workspace.say({ channel: channels.docs, user: world.people.theo, text: "root to go" });
    workspace.say({ channel: channels.docs, user: world.people.jonas, text: "a reply", threadTs: root.ts });
    await feed.getByText("root to go").waitFor();
    workspace.deleteMessage(channels.docs, root.ts);
    await feed.getByText("This message was deleted.").waitFor();
    expect(await feed.getByText("root to go").count()).toBe(0);
    expect(
      await feed
        .getByRole("article")
        .last()
        .getByRole("button", { name: /^1 reply/ })
        .isVisible(),
    ).toBe(true);
  });

  it("loads nothing from elsewhere and breaks no rule of its own", () => {
    // The browser reports failed loads and violations of the policy as errors; a refused act is one that a test provoked.
    expect(page.faults).toEqual([]);
  });
});
