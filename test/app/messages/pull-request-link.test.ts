import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pullRequestLink } from "../../../src/app/messages/links.ts";

describe("a link", () => {
  it.each([
    ["https://github.com/acme/docs/pull/7", "acme/docs#7"],
    ["https://github.com/acme/docs/pull/7/", "acme/docs#7"],
    ["https://github.com/acme/docs/pull/7?diff=split#discussion_r1", "acme/docs#7"],
    ["https://ghe.example.com/org/repo/pull/12", "org/repo#12"],
    ["https://ghe.example.com:8443/org/my.repo_x-1/pull/12", "org/my.repo_x-1#12"],
    ["https://github.com/acme/docs/pull/7/files", "github.com"],
    ["https://github.com/acme/docs/pull/seven", "github.com"],
    ["https://gitlab.com/group/sub/docs/-/merge_requests/3", "gitlab.com"],
    ["https://gitlab.example.org:443/docs/-/merge_requests/3", "gitlab.example.org"],
    ["https://codeberg.org/acme/docs/pulls/4", "codeberg.org"],
    ["https://bitbucket.org/acme/docs/pull-requests/4?a=1&b=2", "bitbucket.org"],
    ["https://localhost:3001/acme/docs/pull/1", "acme/docs#1"],
    ["https://10.0.0.7/acme/docs/pull/1", "acme/docs#1"],
    ["HTTPS://GitHub.com/acme/docs/pull/7", "acme/docs#7"],
    ["https://example.com", "example.com"],
    ["https://example.com?x=@y", "example.com"],
    ["https://example.com/@acme/docs", "example.com"],
    ["https://example.com/r%C3%A9sum%C3%A9/(1)/~a,b;c=d!", "example.com"],
    [`https://example.com/${"a".repeat(1900)}`, "example.com"],
  ])("%s is one, shown as %s", (url, label) => {
    expect(pullRequestLink(url)).toEqual({ url, label });
  });
});

describe("no link, so shown as text,", () => {
  it.each([
    ["nothing", ""],
    ["only a scheme", "https://"],
    ["no host", "https:///acme/docs/pull/7"],
    ["one slash", "https:/github.com/acme"],
    ["no slashes", "https:github.com/acme"],
    ["no scheme", "github.com/acme/docs/pull/7"],
    ["another's scheme", "//github.com/acme/docs/pull/7"],
    ["http", "http://github.com/acme/docs/pull/7"],
    ["ftp", "ftp://github.com/acme"],
    ["javascript", "javascript:alert(1)"],
    ["javascript with a host", "javascript://github.com/%0aalert(1)"],
    ["data", "data:text/html,<script>alert(1)</script>"],
    ["slack", "slack://open"],
    ["user info", "https://github.com@evil.example/acme/docs/pull/7"],
    ["user and password", "https://github.com:443@evil.example/acme"],
    ["encoded user info", "https://github.com%40evil.example/acme"],
    ["white space before", " https://github.com/acme"],
    ["white space after", "https://github.com/acme "],
    ["white space within", "https://github.com/acme docs"],
    ["white space in the host", "https://github .com/acme"],
    ["a newline after", "https://github.com/acme\n"],
    ["a newline within", "https://github.com/a\nhttps://evil.example"],
    ["a tab in the host", "https://git\thub.com/acme"],
    ["another script's white space", "https://github.com/acme\u3000docs"],
    ["a next-line character", "https://github.com/acme\u0085docs"],
    ["a null", "https://github.com/\0acme"],
    ["an escape sequence", "https://github.com/\u001b[31macme"],
    ["a direction mark", "https://github.com/\u202eacme"],
    ["a zero-width space", "https://github.com/\u200bacme"],
    ["half a character", "https://github.com/\ud83d"],
    ["a bar", "https://github.com/acme|https://evil.example"],
    ["a closing bracket", "https://github.com/acme><!channel>"],
    ["an opening bracket", "https://github.com/<acme"],
    ["a quote", 'https://github.com/"acme'],
    ["a backtick", "https://github.com/`acme"],
    ["a backslash", "https://github.com\\@evil.example/acme"],
    ["a backslash in the path", "https://github.com/a\\b"],
    ["a Cyrillic letter in the host", "https://githu\u044c.com/acme"],
    ["a Kelvin sign in the host", "https://\u212aernel.org/acme"],
    ["a long s in the host", "https://g\u017fithub.com/acme"],
    ["a full-width dot in the host", "https://evil\uff0eexample/acme"],
    ["a full-width slash in the host", "https://github.com\uff0facme.evil.example/"],
    ["an emoji host", "https://😀.example/acme"],
    ["an underscore in the host", "https://git_hub.com/acme"],
    ["a dot at the end of the host", "https://github.com./acme"],
    ["a dot at the start of the host", "https://.github.com/acme"],
    ["a hyphen at the start of the host", "https://-github.com/acme"],
    ["an IPv6 host", "https://[::1]/acme"],
    ["a port too high", "https://github.com:65536/acme"],
    ["a port that is none", "https://github.com:x/acme"],
    ["an empty port", "https://github.com:/acme"],
    ["numbers that are no address", "https://256.256.256.256/acme"],
    ["Slack's markup", "<https://github.com/acme|docs>"],
    ["more than a message holds", `https://github.com/${"a".repeat(3000)}`],
    ["more than a message holds once escaped", `https://github.com/?${"&".repeat(500)}`],
  ])("is %s: %j", (_, url) => {
    expect(pullRequestLink(url)).toBeNull();
  });
});

it("lets nothing through that could leave the link, whatever it is given", () => {
  const pieces = fc.constantFrom(
    "https://",
    "https:",
    "http://",
    "github.com",
    "evil.example",
    "xn--",
    "acme",
    "/",
    "/pull/7",
    "@",
    ":",
    ":443",
    "?",
    "#",
    "&",
    "%",
    "%0a",
    ".",
    "-",
    "|",
    "<",
    ">",
    '"',
    "\\",
    " ",
    "\n",
    "\t",
    "\u00a0",
    "\u0085",
    "\u2028",
    "\u202e",
    "\ufeff",
    "\0",
    "é",
    "😀",
    "\ud83d",
    "\u212a",
  );
  const anything = fc.oneof(
    fc.string({ unit: pieces, maxLength: 12 }),
    fc.string({ unit: pieces, maxLength: 8 }).map((rest) => `https://${rest}`),
    fc.string({ unit: pieces, maxLength: 8 }).map((rest) => `https://github.com/${rest}`),
    fc.string({ unit: "binary" }).map((rest) => `https://github.com/${rest}`),
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
    fc.string({ unit: "binary" }),
  );
  let links = 0;
  fc.assert(
    fc.property(anything, (prLink) => {
      const link = pullRequestLink(prLink);
      if (link === null) return;
      links += 1;
      expect(link.url).toBe(prLink);
      expect(link.url).not.toMatch(/[|<>\s\p{White_Space}\p{C}]/u);
      expect(link.label).toMatch(/^[\w.#/-]+$/);
      const url = new URL(link.url);
      expect(url.protocol).toBe("https:");
      expect([url.username, url.password]).toEqual(["", ""]);
      // Whoever reads the text sees the host that the browser goes to.
      const [, host] = /^https:\/\/([^/?#:]*)/i.exec(prLink) ?? [];
      expect(host).toMatch(/^[a-z0-9.-]+$/i);
    }),
    { numRuns: 5000 },
  );
  expect(links).toBeGreaterThan(100);
});
