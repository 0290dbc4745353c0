import type { RequestListener } from "node:http";
import { expect, it } from "vitest";
import { DIRECT } from "../../../src/shared/machine/proxy.ts";
import { fetchPage } from "../../../src/service/network/egress/fetch-page.ts";
import { parseHostRule } from "../../../src/service/network/egress/find-route.ts";
import { hasNewWords } from "../../../src/service/runner/publish/new-words.ts";
import { openFollowingWorld } from "../../support/following-world.ts";
import { openSite } from "../../support/site.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const CHANGE = { "docs/new.md": "# Keys\n\nYou **receive** a [key](keys.md) by mail &amp; phone.\n" };
const OLD = "<html><p>You recieve a key by mail.</p></html>";
const NEW = "<h1>Keys</h1><p>You <b>receive</b> a <a href='/keys'>key</a> by mail &#38; phone.</p>";

it("tells where the change is, once the page of the site has the new words", async () => {
  await using site = await openSite();
  const project = { liveUrl: `${site.url}/{docs/path}` };
  await using world = await openFollowingWorld({ project });
  const { id, pull, prLink } = await world.job(CHANGE);
  await world.pass(MINUTE);
  await world.mine.pulls.merge(pull);
  await world.pass(10 * MINUTE);
  site.pages["/new"] = OLD;
  await world.pass(HOUR);
  expect(await world.record(id)).toMatchObject({ state: "merged" });
  expect(await world.record(id)).not.toHaveProperty("live");
  // The task is on the disk.
  await world.service.stop();
  await world.service.start();
  site.pages["/new"] = NEW;
  await world.pass(HOUR);
  expect(await world.record(id)).toMatchObject({ state: "merged", live: `${site.url}/new` });
  expect(new Set(site.asked)).toEqual(new Set(["/new"]));
  expect(site.headers[0]).not.toHaveProperty("authorization");
  const before = site.asked.length;
  await world.pass(24 * HOUR);
  expect(site.asked).toHaveLength(before);
  // A later turn of the job has it looked at once more.
  world.service.store.followed.begin(id, prLink, [], world.service.clock.now());
  await world.service.stop();
  await world.service.start();
  await world.pass(MINUTE);
  expect(await world.record(id)).toMatchObject({ state: "merged", live: `${site.url}/new` });
  expect(JSON.stringify(world.service.logger.lines)).not.toContain("receive");
});

it("looks for a day, less and less often, and then never again", async () => {
  await using site = await openSite();
  await using world = await openFollowingWorld({ project: { liveUrl: `${site.url}/{docs/path}` } });
  const { id, pull } = await world.job(CHANGE);
  await world.pass(MINUTE);
  await world.mine.pulls.merge(pull);
  await world.pass(48 * HOUR);
  expect(site.asked.length).toBeGreaterThan(10);
  expect(site.asked.length).toBeLessThan(30);
  site.pages["/new"] = NEW;
  await world.pass(48 * HOUR);
  expect(await world.record(id)).not.toHaveProperty("live");
  expect((await world.service.service.queue.counts()).dead).toBe(0);
});

it("looks at no page of a project without liveUrl, or of a change without pages", async () => {
  await using site = await openSite();
  await using world = await openFollowingWorld({ project: { liveUrl: `${site.url}/{docs/path}` } });
  const { pull } = await world.job({ "README.md": "# New\n", "docs/a.png": "x" });
  await world.pass(MINUTE);
  await world.mine.pulls.merge(pull);
  await world.pass(HOUR);
  expect(site.asked).toEqual([]);
});

const rulesFor = (host: string) => [parseHostRule(host)].filter((rule) => rule !== null);

async function fetched(listener: RequestListener, timeLimitMs = 10_000) {
  await using site = await openSite(listener);
  const { signal } = new AbortController();
  const rules = rulesFor(new URL(site.url).host);
  return { page: await fetchPage(`${site.url}/`, { rules, proxy: DIRECT, signal, timeLimitMs }), site };
}

const HTML = { "content-type": "text/html" };

it.each<[string, RequestListener]>([
  ["10 MB", (_, response) => response.writeHead(200, HTML).end("x".repeat(10 * 1024 ** 2))],
  ["a picture", (_, response) => response.writeHead(200, { "content-type": "image/png" }).end("x")],
  ["packed text", (_, response) => response.writeHead(200, { ...HTML, "content-encoding": "gzip" }).end("x")],
  ["a fault", (_, response) => response.writeHead(500, HTML).end("x")],
  ["no HTTP", (_, response) => response.socket?.end("SSH-2.0\r\n\r\n")],
  ["a reset", (_, response) => response.socket?.resetAndDestroy()],
  ["a redirect to itself", (_, response) => response.writeHead(302, { location: "/" }).end()],
  ["another host", (_, response) => response.writeHead(302, { location: "http://localhost/" }).end()],
  ["another port", (_, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end()],
  ["a file", (_, response) => response.writeHead(302, { location: "file:///etc/passwd" }).end()],
  ["no address", (_, response) => response.writeHead(302, { location: "http://" }).end()],
])("reads no page that is %s", async (_, listener) => {
  expect((await fetched(listener)).page).toBeNull();
});

it("reads no page that comes too slowly", async () => {
  const slow: RequestListener = (_, response) => {
    response.writeHead(200, HTML).write("x");
    const timer = setInterval(() => response.write("x"), 10);
    response.on("close", () => clearInterval(timer));
  };
  expect((await fetched(slow, 100)).page).toBeNull();
});

it("follows three redirects within the host", async () => {
  const { page, site } = await fetched((request, response) => {
    const at = Number(request.url?.slice(1));
    if (at === 3) return response.writeHead(200, HTML).end("There");
    response.writeHead(301, { location: `/${at + 1}` }).end();
  });
  expect(Buffer.from(page ?? []).toString()).toBe("There");
  expect(site.asked).toEqual(["/", "/1", "/2", "/3"]);
});

it.each([
  ["docs.acme.com", "127.0.0.1"],
  ["docs.acme.com", "10.0.0.1"],
  ["docs.acme.com", "169.254.169.254"],
  ["docs.acme.com:8080", "169.254.169.254"],
])("connects to no address inside for %s (%s)", async (host, address) => {
  const resolve = async () => [address];
  const options = { rules: rulesFor(host), proxy: DIRECT, signal: new AbortController().signal, resolve };
  expect(await fetchPage(`http://${host}/`, options)).toBeNull();
});

const patch = (removed: string, added: string) =>
  ["@@ -1,3 +1,3 @@", " A line before", `-${removed}`, `+${added}`, " A line after"].join("\n");

it.each([
  ["a typo", patch("You recieve it", "You receive it"), "<p>You receive it.</p>", true],
  ["the old page", patch("You recieve it", "You receive it"), "<p>You recieve it.</p>", false],
  ["only a script", patch("", "All new words here"), "<script>All new words here</script>", false],
  ["only a comment", patch("", "All new words here"), "<!-- All new words here -->", false],
  ["words in tags", patch("", "Run `npm ci` **now**"), "Run <code>npm</code> <i>ci</i> now", true],
  ["a moved line", patch("A line after", "A line after"), "A line after", false],
  ["nothing new", patch("Some words", ""), "Some words", false],
  ["no letters", patch("", "!!! ---"), "!!! ---", false],
  ["letters that get longer in lower case", patch("", "Yeni"), `${"İ".repeat(50)}<b>Yeni</b>`, true],
  ["other scripts", patch("", "価格は無料です"), "<p>価格は無料です。</p>", true],
])("sees new words of a page: %s", (_, change, page, expected) => {
  expect(hasNewWords({ patch: change, page: Buffer.from(page) })).toBe(expected);
});

it("reads hostile pages in a moment", () => {
  const change = patch("", "All new words here");
  for (const part of ["<", "<!--", "<script", "&#", "&#99999999;", "<script></script>", "\u{1F600}", "\0"]) {
    const page = Buffer.from(part.repeat(Math.floor((2 * 1024 ** 2) / part.length)));
    const begun = performance.now();
    expect(hasNewWords({ patch: change, page })).toBe(false);
    expect(performance.now() - begun).toBeLessThan(5000);
  }
});
