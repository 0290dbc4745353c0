// The check of the preset `links`. It finds links to pages, pictures and headings that don't exist.
// What a tree of files can't prove is no finding. It reads the settings of a site only as text, and
// runs nothing of the repository.
//
//   node links.mjs                    reads the pages of this folder
//   node links.mjs --proof -- PATHS   reads only these pages and those that name them, and says at
//                                     the end how many it read
//
// The exit code is 0 without findings, 1 with findings, and 3 if it couldn't look. It is one long
// file, because it is copied alone to the folder of its packages.
import { createRequire } from "node:module";
import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { posix } from "node:path";

/** A larger page isn't read, which is a finding. As a link's target, it has every anchor. */
const MAX_PAGE_CHARACTERS = 1024 * 1024;
/** The longest tag, comment or expression in braces that is read. */
const MAX_TAG_CHARACTERS = 20_000;

const MARKDOWN = /\.(?:md|mdx|markdown)$/i;
const PAGE = /\.(?:md|mdx|markdown|rst|adoc|asciidoc)$/i;
const PICTURE = /\.(?:png|jpe?g|gif|svg|webp|avif|bmp|mp4|webm)$/i;
/** Files that a build may make. That they are absent proves nothing. */
const MADE =
  /(?:^|\/)(?:rss|feed|atom|sitemap|robots|llms|index|search|print|genindex|(?:py-)?modindex)[\w-]*\.\w+$/i;
const COMPONENT = /\.(?:[jt]sx?|vue|astro)$/i;
/** Endings that a route leaves out. */
const ROUTE_ENDING = /\.(?:mdx?|markdown|mdoc|qmd|rst|adoc|asciidoc|ipynb|html?|astro|vue|[jt]sx?|txt)$/i;

// --- The tree of files

/**
 * Every file and folder below the working directory, without `.git` and the packages of programs.
 */
function readTree() {
  const files = new Set();
  const folders = new Set([""]);
  /** Places whose content isn't part of the tree: links to folders, packages, submodules. */
  const closed = [];
  const top = realpathSync(".");
  const queue = [""];
  while (queue.length > 0) {
    const folder = queue.pop();
    for (const entry of readdirSync(folder || ".", { withFileTypes: true })) {
      const path = folder ? `${folder}/${entry.name}` : entry.name;
      if (entry.isFile()) files.add(path);
      else if (entry.isDirectory() && (entry.name === "node_modules" || entry.name === ".git"))
        closed.push(path);
      else if (entry.isDirectory()) {
        folders.add(path);
        queue.push(path);
      } else if (entry.isSymbolicLink() && leadsToFileBelow(top, path)) files.add(path);
      else closed.push(path);
    }
  }
  if (files.has(".gitmodules")) {
    for (const [, path] of readFileSync(".gitmodules", "utf8").matchAll(/^\s*path\s*=\s*(\S+)/gm))
      closed.push(path);
  }
  return { files, folders, closed, ...findPlaces(files, folders) };
}

/** The value of a key in a map. If there is none, a new one is kept, by default a list. */
function entryOf(map, key, make = () => []) {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

/**
 * Finds what a path may mean: the file itself, a page without its ending, or the page of a folder.
 * It also finds files and folders by their names.
 */
function findPlaces(files, folders) {
  const places = new Map([...folders].map((folder) => [folder, []]));
  const byName = new Map();
  const add = (map, key, path) => entryOf(map, key).push(path);
  for (const folder of folders) add(byName, posix.basename(folder), folder);
  for (const path of files) {
    add(places, path, path);
    add(byName, posix.basename(path), path);
    if (ROUTE_ENDING.test(path)) add(places, path.replace(ROUTE_ENDING, ""), path);
    // Next.js leaves folders in parentheses out of routes.
    const route = path.replace(/(?<=^|\/)\([^()/]+\)\//g, "");
    if (route !== path && PAGE.test(path)) add(places, withoutEnding(route), path);
    if (isIndex(path)) add(places, folderOf(path), path);
  }
  return { places, byName };
}

function leadsToFileBelow(top, path) {
  try {
    return realpathSync(path).startsWith(`${top}/`) && statSync(path).isFile();
  } catch {
    return false;
  }
}

/** A path below the top, or null if it leaves the tree. */
function join(folder, path) {
  const joined = posix.normalize(`${folder || "."}/${path}`).replace(/\/+$/, "");
  if (joined === ".." || joined.startsWith("../")) return null;
  return joined === "." ? "" : joined;
}

function folderOf(path) {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

function isIndex(path) {
  return ROUTE_ENDING.test(path) && /^(?:_?index|readme)\.\w+$/i.test(posix.basename(path));
}

function withoutEnding(path) {
  return path.replace(/\.(?:md|mdx|markdown|mdoc|qmd|rst|adoc|asciidoc|ipynb|html?|astro|vue)$/i, "");
}

// --- Tags, comments and expressions in Markdown

/** Counts the characters that were looked at in vain, so that no page takes long. */
function spend(env, characters) {
  env.budget -= characters;
  return env.budget > 0;
}

/** The position after the brace that closes the one at `at`, or -1. */
function endOfBraces(text, at, env) {
  if (env.budget <= 0) return -1;
  const limit = Math.min(text.length, at + MAX_TAG_CHARACTERS);
  let depth = 0;
  for (let pos = at; pos < limit; pos++) {
    const char = text[pos];
    if (char === "{") depth++;
    else if (char === "}" && --depth === 0) return pos + 1;
    else if (char === '"' || char === "'" || char === "`") {
      const close = text.slice(pos + 1, Math.min(limit, pos + 2000)).indexOf(char);
      const inside = close < 0 ? "\n" : text.slice(pos + 1, pos + 1 + close);
      if (char === "`" ? close >= 0 : !inside.includes("\n")) pos += close + 1;
      else spend(env, inside.length);
    }
  }
  spend(env, limit - at);
  return -1;
}

/**
 * The tag of HTML or JSX that begins at `at`: its name, its attributes and where it ends. Null if
 * there is none. A value in braces is null, unless it is one string.
 */
function readTag(text, at, env) {
  if (env.budget <= 0) return null;
  const start = /<\/?(?:[A-Za-z][\w.:-]*)?/y;
  start.lastIndex = at;
  const name = start.exec(text)?.[0];
  if (!name) return null;
  const attributes = [];
  const limit = Math.min(text.length, at + MAX_TAG_CHARACTERS);
  const part = /\s+|\/?>|\{|([^\s=>"'{}/<]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|(\{)|([^\s>"'`{]+)))?/y;
  const within = text.slice(at, limit);
  let pos = name.length;
  while (pos < within.length) {
    part.lastIndex = pos;
    const found = part.exec(within);
    if (!found) {
      if (within[pos] !== "/") break;
      pos++;
      continue;
    }
    const [all, key, double, single, brace, bare] = found;
    if (all.endsWith(">") && key === undefined) {
      return {
        name: name.replace(/^<\/?/, ""),
        closing: name[1] === "/",
        attributes,
        end: at + pos + all.length,
      };
    }
    pos += all.length;
    if (all === "{" || brace) {
      const end = endOfBraces(within, pos - 1, env);
      if (end < 0) break;
      const literal = /^\{\s*(["'`])([^"'`$]*)\1\s*\}$/.exec(within.slice(pos - 1, end));
      if (brace) attributes.push([key, literal ? literal[2] : null]);
      pos = end;
    } else if (key !== undefined) attributes.push([key, double ?? single ?? bare ?? ""]);
  }
  spend(env, pos);
  return null;
}

/** Each tag in a piece of HTML, but for those in comments, scripts and samples. */
function* tagsIn(html, env) {
  const hidden = /^(?:script|style|pre|textarea|code|svg)$/i;
  let pos = 0;
  while ((pos = html.indexOf("<", pos)) >= 0) {
    if (html.startsWith("<!--", pos)) {
      const end = html.indexOf("-->", pos + 4);
      if (end < 0) return;
      pos = end + 3;
      continue;
    }
    const tag = readTag(html, pos, env);
    if (!tag) {
      pos++;
      continue;
    }
    yield { ...tag, start: pos };
    pos = tag.end;
    if (!tag.closing && hidden.test(tag.name) && html[pos - 2] !== "/") {
      const close = closingTag(html, tag.name, pos, env);
      if (close >= 0) pos = close;
    }
  }
}

/** The position after `at` where the closing tag of an element begins, or -1. */
function closingTag(text, name, at, env) {
  if (env.unclosed?.has(name)) return -1;
  const close = text.indexOf(`</${name}`, at);
  if (close < 0) (env.unclosed ??= new Set()).add(name);
  return close;
}

/** The position after the comment of HTML or JSX that begins at `at`, or -1. */
function endOfComment(text, at, env) {
  const [open, close] = text[at] === "<" ? ["<!--", "-->"] : ["{/*", "*/}"];
  if (!text.startsWith(open, at) || env[`no ${close}`]) return -1;
  const end = text.indexOf(close, at + open.length - 1);
  if (end < 0) env[`no ${close}`] = true;
  return end < 0 ? -1 : end + close.length;
}

// --- Markdown as sites write it

/** A rule of markdown-it: a comment over several lines, in which nothing is a link. */
function commentBlock(state, startLine, endLine, silent) {
  const at = state.bMarks[startLine] + state.tShift[startLine];
  if (!state.env.jsx && state.sCount[startLine] - state.blkIndent >= 4) return false;
  const html = state.src.startsWith("<!--", at);
  if (!html && !state.src.startsWith("{/*", at)) return false;
  let end = endOfComment(state.src, at, state.env);
  if (end < 0) {
    if (!html || state.src.includes("-->", at)) return false;
    end = state.src.length;
  }
  let line = startLine;
  while (line < endLine && state.eMarks[line] < end) line++;
  if (state.src.slice(end, state.eMarks[line]).trim() !== "") return false;
  if (silent) return true;
  const token = state.push("comment", "", 0);
  token.map = [startLine, line + 1];
  token.content = state.src.slice(at, end);
  state.line = line + 1;
  return true;
}

/**
 * A rule of markdown-it for pages with JSX: a tag or an expression that has its lines for itself.
 */
function jsxBlock(state, startLine, endLine, silent) {
  if (!state.env.jsx) return false;
  const at = state.bMarks[startLine] + state.tShift[startLine];
  const char = state.src[at];
  if (char !== "<" && char !== "{") return false;
  const tag = char === "<" ? readTag(state.src, at, state.env) : null;
  let end = tag ? tag.end : char === "{" ? endOfBraces(state.src, at, state.env) : -1;
  if (end < 0) return false;
  if (tag && !tag.closing && /^(?:script|style|pre|svg)$/.test(tag.name) && state.src[end - 2] !== "/") {
    const close = closingTag(state.src, tag.name, end, state.env);
    if (close >= 0) end = close + tag.name.length + 3;
  }
  let line = startLine;
  while (line < endLine && state.eMarks[line] < end) line++;
  if (line >= endLine || state.src.slice(end, state.eMarks[line]).trim() !== "") return false;
  if (silent) return true;
  const token = state.push(tag ? "html_block" : "comment", "", 0);
  token.map = [startLine, line + 1];
  token.content = state.src.slice(at, end);
  state.line = line + 1;
  return true;
}

/** A rule of markdown-it: the indented content of MkDocs' admonitions and tabs is no code. */
function indentedBlock(state, startLine, endLine, silent) {
  const at = state.bMarks[startLine] + state.tShift[startLine];
  if (state.sCount[startLine] - state.blkIndent >= 4) return false;
  if (!/^(?:!!! |\?\?\?\+? |===[!+]? ")/.test(state.src.slice(at, at + 6))) return false;
  if (silent) return true;
  let line = startLine + 1;
  while (line < endLine && (state.isEmpty(line) || state.sCount[line] >= state.blkIndent + 4)) line++;
  const { blkIndent, lineMax, parentType } = state;
  state.parentType = "blockquote";
  state.blkIndent += 4;
  state.lineMax = line;
  state.md.block.tokenize(state, startLine + 1, line);
  Object.assign(state, { blkIndent, lineMax, parentType, line });
  return true;
}

/** A rule of markdown-it for pages with JSX, where lines may be indented as their tags are. */
function flattenIndent(state, startLine, endLine) {
  for (let line = startLine; line < endLine && !state.isEmpty(line); line++) {
    if (state.sCount[line] - state.blkIndent < 4) break;
    state.sCount[line] = state.blkIndent + 3;
  }
  return false;
}

/** A rule of markdown-it for pages with JSX: fences, however they are indented. */
function jsxFence(state, startLine, endLine, silent) {
  const textOf = (line) =>
    state.src.slice(state.bMarks[line] + state.tShift[line], state.eMarks[line]).trimEnd();
  const [, marker, info] = /^(`{3,}(?=[^`]*$)|~{3,})(.*)$/.exec(textOf(startLine)) ?? [];
  if (marker === undefined) return false;
  if (silent) return true;
  const isEnd = (text) => text.length >= marker.length && text === marker[0].repeat(text.length);
  let line = startLine + 1;
  while (
    line < endLine &&
    (state.isEmpty(line) || state.sCount[line] >= state.blkIndent) &&
    !isEnd(textOf(line))
  )
    line++;
  const token = state.push("fence", "code", 0);
  Object.assign(token, {
    info,
    content: state.getLines(startLine + 1, line, 0, true),
    map: [startLine, line],
  });
  state.line = line < endLine && isEnd(textOf(line)) ? line + 1 : line;
  return true;
}

/** A rule of markdown-it: tags, comments and expressions within a line. */
function inlineTag(state, silent) {
  const char = state.src[state.pos];
  if (char !== "<" && !(char === "{" && state.env.jsx)) return false;
  const comment = endOfComment(state.src, state.pos, state.env);
  const tag = comment < 0 && char === "<" ? readTag(state.src, state.pos, state.env) : null;
  const end =
    tag?.end ?? (comment < 0 && char === "{" ? endOfBraces(state.src, state.pos, state.env) : comment);
  if (end < 0 || end > state.posMax) return false;
  if (!silent) state.push("html_inline", "", 0).content = state.src.slice(state.pos, end);
  state.pos = end;
  return true;
}

/**
 * Reads Markdown as sites do, or with JSX, where indented text and text in tags is Markdown, too.
 */
function markdownReader(markdownIt, jsx) {
  const reader = markdownIt({ html: true }).disable(["linkify", "replacements", "smartquotes"]);
  reader.normalizeLink = (link) => link;
  reader.validateLink = () => true;
  const alt = ["paragraph", "reference", "blockquote", "list"];
  reader.block.ruler.before("code", "comment", commentBlock, { alt });
  reader.block.ruler.before("code", "own block", jsx ? jsxBlock : indentedBlock, { alt });
  reader.inline.ruler.at("html_inline", inlineTag);
  if (!jsx) return reader;
  reader.block.ruler.before("table", "indent", flattenIndent);
  reader.block.ruler.at("fence", jsxFence, { alt });
  return reader.disable(["code", "html_block"]);
}

/** The front matter of a page, and its text with as many lines without it. */
function splitFrontMatter(text) {
  const fence = /^(---|\+\+\+)[ \t]*\r?\n/.exec(text)?.[1];
  const end = fence
    ? text.slice(3).search(fence === "---" ? /\n---[ \t]*(?:\r?\n|$)/ : /\n\+\+\+[ \t]*(?:\r?\n|$)/)
    : -1;
  if (end < 0) return { head: "", body: text };
  const head = text.slice(0, end + 7);
  return { head, body: head.replace(/[^\n]/g, "") + text.slice(end + 7) };
}

const LINK_ATTRIBUTES = {
  a: "href",
  area: "href",
  img: "src",
  video: "src",
  source: "src",
  audio: "src",
  iframe: "src",
};
const TITLE_ATTRIBUTES = new Set(["title", "label", "name", "header", "heading", "path", "query", "body"]);

/** True if an attribute is a link. A site's own components may put something before a path. */
function isLinkOf(component, key, value) {
  if (key !== "href" && !(key === "to" && component.endsWith("Link"))) return false;
  return /^[./#]/.test(value) || /^(?:\w*Card|Link|NavLink|LinkButton|Button|Tile)$/.test(component);
}

/** The links of a Markdown page, and everything that may be an anchor in it. */
class MarkdownPage {
  links = [];
  ids = new Set();
  /** Each heading in the ways in which it may be read. */
  headings = [];
  #readers;
  #env;
  #lastLine = "";

  constructor(text, readers, jsx) {
    this.#readers = readers;
    this.#env = { budget: 50_000 + 20 * text.length };
    const { head, body } = splitFrontMatter(text);
    const title = /^title\s*[:=]\s*["']?(.*?)["']?\s*$/m.exec(head)?.[1];
    if (title) this.headings.push([title]);
    this.#read(body, 0, jsx, 0);
    this.isOpen = this.headings.length <= (title ? 1 : 0) && /<script\b/.test(body);
  }

  /** True if the page is so tangled that something in it was not looked at. */
  get isTangled() {
    return this.#env.budget <= 0;
  }

  #read(text, firstLine, jsx, depth) {
    // A footnote may hold anything that an item of a list may.
    const body = text.replace(/^( {0,3})\[\^[^\]\n]{1,100}\]:/gm, "$1- ");
    this.#env.jsx = jsx;
    this.#env.references = {};
    const tokens = this.#readers[jsx ? "jsx" : "plain"].parse(body, this.#env);
    // Tabs of MkDocs are anchors, by themselves or after their heading: `heading--tab`.
    for (const [, tab] of body.matchAll(/^\s*===[!+]? "([^"\n]{1,200})"/gm)) this.headings.push([tab]);
    let line = firstLine + 1;
    for (const [index, token] of tokens.entries()) {
      if (token.type === "fence") this.#readIds(token.info);
      if (token.map) line = firstLine + token.map[0] + 1;
      if (token.type === "inline") this.#readInline(token, line, tokens[index - 1].type === "heading_open");
      else if (token.type === "comment") this.#readIds(token.content);
      else if (token.type === "html_block") this.#readHtml(token.content, line, depth);
      else if (token.type === "fence" && /^\s*\{/.test(token.info)) {
        for (const [, id] of token.content.matchAll(/^:(?:name|label): *(\S+)/gm)) addLabel(this.ids, id);
        if (depth < 10 && !/^\s*\{(?:code|literal|parsed|math|mermaid|raw|eval|doctest)/.test(token.info)) {
          this.#read(token.content, line, jsx, depth + 1);
        }
      }
    }
  }

  #readInline(token, firstLine, isHeading) {
    const raw = token.content;
    let cursor = 0;
    let line = firstLine;
    const add = (link, isMarkdown) => {
      const at = link === "" ? -1 : raw.slice(cursor, cursor + 5000).indexOf(link);
      if (at >= 0) {
        for (let pos = cursor; (pos = raw.indexOf("\n", pos)) >= 0 && pos < cursor + at; pos++) line++;
        cursor += at;
      }
      this.links.push({ link, line, isMarkdown });
    };
    let text = "";
    const visit = (children) => {
      for (const child of children) {
        if (child.type === "link_open") add(child.attrGet("href") ?? "", true);
        else if (child.type === "image") {
          add(child.attrGet("src") ?? "", true);
          visit(child.children ?? []);
        } else if (child.type === "html_inline") {
          const tag = readTag(child.content, 0, this.#env);
          if (tag) this.#readTag(tag, add);
        } else if (child.type === "text" || child.type === "code_inline") text += child.content;
        else if (child.type === "softbreak") text += " ";
      }
    };
    visit(token.children ?? []);
    this.#readTerms(raw);
    this.#readIds(raw);
    if (isHeading) {
      const plain = raw.replace(/\s*\{[^{}]{0,200}\}\s*$/, "");
      const withoutLabels = plain.replace(/<(\w+)\b[^<>]{0,300}>[^<]{0,300}<\/\1>/g, "");
      const unmarked = text.replace(/\s*\{[^{}]{0,200}\}\s*$/, "");
      // Nextra and Fumadocs
      const id = /\[#([^\s[\]]{1,200})\]\s*$/.exec(raw)?.[1];
      if (id) this.ids.add(id);
      this.headings.push([unmarked, text, plain, withoutLabels, plain.replace(/<[^>]{0,500}>/g, "")]);
      const isFilledIn = /<!--|\{[{%]/.test(raw);
      if (isFilledIn) for (const [word] of raw.matchAll(/[\w.-]+/g)) this.ids.add(word);
    }
  }

  /** A term of a definition list is an anchor, too: the line before one that begins with `: `. */
  #readTerms(raw) {
    if (!raw.startsWith(":") && !raw.includes("\n:")) {
      this.#lastLine = raw.slice(raw.lastIndexOf("\n") + 1);
      return;
    }
    const lines = [this.#lastLine, ...raw.split("\n")];
    for (const [index, line] of lines.entries()) {
      if (index > 0 && /^:\s/.test(line)) this.headings.push([lines[index - 1]]);
    }
    this.#lastLine = lines.at(-1);
  }

  #readHtml(html, firstLine, depth) {
    if (/^\s*<\w+[^>]{0,500}\smarkdown[\s=>]/.test(html) && depth < 10) {
      this.#read(html, firstLine - 1, true, depth + 1);
      return;
    }
    let line = firstLine;
    let counted = 0;
    for (const tag of tagsIn(html, this.#env)) {
      for (let pos; (pos = html.indexOf("\n", counted)) >= 0 && pos < tag.start; counted = pos + 1) line++;
      this.#readTag(tag, (link) => this.links.push({ link, line, isMarkdown: false }));
    }
    this.#readIds(html);
  }

  #readTag({ name, attributes }, add) {
    const isComponent = /^[A-Z]/.test(name);
    for (const [key, value] of attributes) {
      if (value === null) continue;
      if (key === "id" || (key === "name" && !isComponent)) this.ids.add(value);
      if (isComponent && TITLE_ATTRIBUTES.has(key))
        this.headings.push([value, `param-${value}`, `response-${value}`]);
      if (key === LINK_ATTRIBUTES[name.toLowerCase()] || (isComponent && isLinkOf(name, key, value))) {
        add(value, false);
      }
    }
  }

  /** Explicit ids: `{#id}`, `{: #id .class }`, `[#id]`, `(label)=`, and headings of HTML. */
  #readIds(raw) {
    for (const [, id] of raw.matchAll(/\{[^{}\n#]{0,100}#([^\s{}"'=*]+)[^{}\n]{0,200}\}/g)) this.ids.add(id);
    for (const [, id] of raw.matchAll(/\{[^{}\n]{0,100}\bid\s*=\s*["']?([^\s"'{}]{1,200})/g))
      this.ids.add(id);
    for (const [, id] of raw.matchAll(/^\(([^()\n]{1,200})\)=/gm)) addLabel(this.ids, id);
    // The macros of Material for MkDocs: `<!-- md:setting a.b -->`
    for (const [, id] of raw.matchAll(/<!-- md:(?:setting|option) (\S{1,200})/g))
      this.ids.add(id).add(`+${id}`);
    for (const [, , text] of raw.matchAll(/<h([1-6])\b[^>]{0,300}>([^]{0,500}?)<\/h\1>/gi)) {
      this.headings.push([text.replace(/<[^>]{0,500}>/g, "").trim()]);
    }
  }
}

// --- Pages of other kinds: their anchors, and the links that are sure

const PUNCTUATED = /^([=\-`:'"~^_*+#<>.])\1{2,}\s*$/;

function readRestructuredText(text) {
  const page = {
    links: [],
    ids: new Set(),
    headings: [],
    isOpen: /^\s*\.\. (?:include|auto|[\w-]+:[\w-]+|option|glossary|toctree)/m.test(text),
  };
  const lines = text.split(/\r?\n/);
  for (const [index, line] of lines.entries()) {
    const label =
      /^\s*\.\. _`?([^`]+?)`?:(?:\s|$)/.exec(line.slice(0, 300))?.[1] ?? /^\s*:name:\s*(\S+)/.exec(line)?.[1];
    if (label) addLabel(page.ids, label);
    if (index > 0 && PUNCTUATED.test(line) && lines[index - 1].trim())
      page.headings.push([lines[index - 1].trim()]);
  }
  return page;
}

function readAsciiDoc(text) {
  const page = { links: [], ids: new Set(), headings: [], isOpen: /^include::|^ifdef::/m.test(text) };
  for (const [, title] of text.matchAll(/^={1,6}[ \t]+(.+)$/gm)) page.headings.push([title.trim()]);
  for (const [, id] of text.matchAll(/\[(?:\[|#)([^\],\n]{1,200})/g)) page.ids.add(id);
  for (const [, id] of text.matchAll(/\banchor:([^[\s]{1,200})\[/g)) page.ids.add(id);
  return page;
}

/** A page of HTML, or a component, whose headings and computed ids aren't known. */
function readHtmlPage(text, isComponent) {
  const made = isComponent ? /<h[1-6\s{]|\bid=(?!["'])|Heading|location\.hash/ : /<script\b/i;
  const page = { links: [], ids: new Set(), headings: [], isOpen: made.test(text) };
  for (const [, , id] of text.matchAll(/\s(?:id|name)\s*=\s*(["']?)([^"'\s>]{1,300})\1/gi)) page.ids.add(id);
  return page;
}

// --- Anchors

const EMOJI = /[\p{Extended_Pictographic}\u{FE0F}\u{200D}]|:[\w+-]+:/gu;

/** One slug for each way in which a generator turns a heading into an anchor. */
const SLUGGERS = [
  // github-slugger: GitHub, Docusaurus, Starlight, Mintlify, DocFX
  (text) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
      .replaceAll(" ", "-"),
  // Goldmark: Hugo
  (text) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, "")
      .replaceAll(" ", "-"),
  // VitePress
  (text) => spelledOut(text).replace(/^(\d)/, "_$1"),
  (text) => spelledOut(text),
  // Everything but letters and digits is one separator: Sphinx, Markdig, slugify
  (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-"),
  (text) =>
    unaccented(text)
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^[-\d]+/, ""),
  // Python-Markdown: MkDocs
  (text) =>
    unaccented(text)
      .replace(/[^\w\s-]/g, "")
      .trim()
      .toLowerCase()
      .replace(/[-\s]+/g, "-"),
  (text) =>
    text
      .replace(/[^\p{L}\p{N}_\s-]/gu, "")
      .trim()
      .toLowerCase()
      .replace(/[-\s]+/gu, "-"),
  // kramdown: Jekyll
  (text) =>
    text
      .replace(/^[^a-zA-Z]+/, "")
      .replace(/[^a-zA-Z0-9 -]/g, "")
      .replaceAll(" ", "-")
      .toLowerCase(),
  // Asciidoctor
  (text) =>
    `_${text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ .-]/gu, "")
      .replace(/[ .-]+/g, "_")}`,
  (text) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ .-]/gu, "")
      .replace(/[ .-]+/g, "-"),
];

/** Python-Markdown with `pymdownx.slugs`, which may leave letters as they are. */
const CASED_SLUGGER = (text) =>
  text
    .replace(/[^\p{L}\p{N}_\s-]/gu, "")
    .trim()
    .replace(/\s/gu, "-");

function unaccented(text) {
  return text.normalize("NFKD").replace(/[\u0300-\u036F]/g, "");
}

function spelledOut(text) {
  const separators = /[\s~`!@#$%^&*()\-_+=[\]{}|\\;:"'“”‘’<>,.?/]+/g;
  return unaccented(text)
    .replace(separators, "-")
    .replace(/^-+|-+$/g, "")
    .toLowerCase();
}

function slugsOf(texts, sluggers) {
  const slugs = new Set();
  for (const text of texts) {
    for (const slugger of sluggers) {
      const slug = slugger(text.trim());
      for (const form of [slug, slug.replace(/^-+|-+$/g, ""), slug.replace(/-{2,}/g, "-")]) slugs.add(form);
    }
  }
  // Markdig: a heading without letters.
  if (slugs.has("")) slugs.add("section");
  return slugs;
}

/** The letters and digits of a text alone. No slugger changes more than what is beside them. */
function lettersOf(text) {
  return unaccented(text)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "");
}

/** The headings of a page, each by the letters that its anchor may have. */
function indexHeadings(page) {
  const byLetters = new Map();
  for (const heading of page.headings) {
    const cut = heading.map((text) => text.slice(0, 1000));
    const texts = [
      ...new Set(cut.flatMap((text) => [text, text.replace(EMOJI, ""), text.replaceAll("&", "and")])),
    ];
    const letters = texts.map(lettersOf);
    for (const key of new Set(
      letters.flatMap((all) => [all, all.replace(/^\d+/, ""), all.replace(/[^a-z\d]/g, "")]),
    ))
      entryOf(byLetters, key).push(texts);
  }
  return byLetters;
}

/**
 * True if any generator makes this anchor of a heading. Headings with the same words get numbers.
 */
function isMadeOfHeading(anchor, byLetters, sluggers) {
  const same = byLetters.get(lettersOf(anchor)) ?? [];
  if (same.length > 0 && !/^[\p{L}\p{M}\p{N}_-]*$/u.test(anchor)) return true;
  if (same.some((texts) => slugsOf(texts, sluggers).has(anchor))) return true;
  const [, heading, tab] = /^(.+?)--(.+)$/s.exec(anchor) ?? [];
  if (tab !== undefined && [heading, tab].every((part) => isMadeOfHeading(part, byLetters, sluggers)))
    return true;
  const [, first, number] = /^(.*)[-_](\d{1,4})$/s.exec(anchor) ?? [];
  if (number === undefined) return anchor === "section" && byLetters.has("");
  const alike = byLetters.get(lettersOf(first === "section" ? "" : first)) ?? [];
  const times = alike.filter((texts) => slugsOf(texts, sluggers).has(first)).length;
  return times > 1 && Number(number) <= times;
}

/** Adds a label as it is, and as docutils and MyST turn it into an id. */
function addLabel(ids, label) {
  const form = unaccented(label)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-");
  ids.add(label).add(form.replace(/^[-\d]+|-+$/g, ""));
}

/** Anchors that the frame of a site has, that tools make, or that choose a line or a tab. */
const FRAME_ANCHORS = new RegExp(
  [
    "^$|^[!/]",
    "^(?:top|_top|start-of-content|readme|__.*|docsearch.*|comments?)$",
    String.raw`^L\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?$`,
    "^(?:tab|tabpanel|tabs)[-/]|^(?:user-content-)?fn(?:ref)?[:_-]",
    String.raw`^id\d+$`,
  ].join("|"),
  "i",
);

// --- Sites

/** The file by which a generator is known, and how many folders above it the site begins. */
const GENERATORS = [
  ["docusaurus", /(?:^|\/)docusaurus\.config\.\w+$/, 1],
  ["mkdocs", /(?:^|\/)(?:mkdocs\.ya?ml|zensical\.toml)$/, 1],
  ["vitepress", /(?:^|\/)\.(?:vitepress|vuepress)\/config\.\w+$/, 2],
  ["vitepress", /(?:^|\/)\.(?:vitepress|vuepress)\/config\/index\.\w+$/, 3],
  ["astro", /(?:^|\/)astro\.config\.\w+$/, 1],
  ["mintlify", /(?:^|\/)(?:docs|mint)\.json$/, 1],
  ["hugo", /(?:^|\/)hugo\.(?:toml|ya?ml|json)$/, 1],
  ["hugo", /(?:^|\/)config\/_default\/(?:hugo|config)\.(?:toml|ya?ml|json)$/, 3],
  ["sphinx", /(?:^|\/)(?:conf\.py|myst\.yml|_toc\.yml)$/, 1],
  ["docfx", /(?:^|\/)(?:docfx\.json|\.openpublishing\.publish\.config\.json)$/, 1],
  ["antora", /(?:^|\/)antora\.yml$/, 1],
  ["jekyll", /(?:^|\/)_config\.ya?ml$/, 1],
];
const CONTENT_FOLDERS = {
  docusaurus: ["docs", "blog", "src/pages"],
  mkdocs: ["docs"],
  vitepress: ["", "src", "docs"],
  astro: ["src/content/docs", "src/pages", "src/content"],
  hugo: ["content"],
};
const STATIC_FOLDERS = [
  "",
  "static",
  "public",
  "assets",
  "docs/public",
  "src/public",
  "docs/.vuepress/public",
  ".vuepress/public",
];
/**
 * Generators whose routes follow from their files, so that a route beside others proves something.
 */
const KNOWN_ROUTES = new Set(["docusaurus", "mkdocs", "vitepress", "astro", "mintlify", "hugo"]);
/** A first part of a route that names no folder: a language or a version. */
const LANGUAGE_OR_VERSION =
  /^(?:[a-z]{2}(?:-[a-z]{2,4})?|next|latest|stable|current|main|master|dev|v?\d+(?:\.[\dx]+)*)$/i;
const LANGUAGE = /^[a-z]{2}(?:-[a-z]{2,4})?$/i;
/** Routes that generators make of tags, lists and searches. */
const MADE_ROUTE =
  /(?:^|\/)(?:tags?|categor(?:y|ies)|archives?|authors?|page|search|playground|\d{4}\/\d{1,2})(?:\/|$)/i;

/** Folders of content below a site's own: versions, languages, modules. */
const NESTED_ROOTS = [
  /(?:^|\/)versioned_docs\/[^/]+$/,
  /(?:^|\/)i18n\/[^/]+\/docusaurus-plugin-content-\w+(?:\/(?:current|version-[^/]+))?$/,
  /(?:^|\/)modules\/[^/]+\/pages$/,
  /(?:^|\/)content\/[a-z]{2}(?:-[a-z]+)?$/i,
];

function findSites(tree) {
  const sites = [];
  for (const path of tree.files) {
    for (const [kind, file, above] of GENERATORS) {
      if (!file.test(path)) continue;
      let folder = path;
      for (let n = 0; n < above; n++) folder = folderOf(folder);
      sites.push(describeSite(tree, kind, folder, tree.read(path) ?? ""));
    }
  }
  return sites;
}

/** The places of a site's pages and pictures, and the beginnings that its routes may have. */
function describeSite(tree, kind, folder, settings) {
  const strings = (pattern) => [...settings.matchAll(pattern)].map((found) => found[1]);
  const named = [
    ...strings(/\b(?:path|srcDir|contentDir|docs_dir)["']?\s*[:=]\s*["']?([\w./-]{1,200})/g),
    ...(CONTENT_FOLDERS[kind] ?? [""]),
  ];
  const roots = named
    .map((path) => join(folder, path))
    .filter((path) => path !== null && tree.folders.has(path));
  for (const path of tree.folders) {
    const below = NESTED_ROOTS.some((pattern) => pattern.test(path));
    if (below && path.startsWith(folder)) roots.push(path);
  }
  const prefixes = [
    ...strings(
      /\b(?:base(?:Url|URL|Path)?|routeBasePath)["']?\s*[:=]\s*["'`](?:https?:\/\/[^/"'`]+)?([^"'`]{1,200})/g,
    ),
    ...strings(/\b(?:site_url|url)["']?\s*[:=]\s*["']?https?:\/\/[^/\s"']+\/([^\s"']{1,200})/g),
    ...roots.map((path) => posix.basename(path)),
  ].flatMap((path) => path.split("/").filter(Boolean));
  const statics = STATIC_FOLDERS.map((path) => join(folder, path)).filter(
    (path) => path !== null && tree.folders.has(path),
  );
  const hasLinkHook = (tree.byName.get("render-link.html") ?? []).some(
    (path) => tree.files.has(path) && posix.basename(folderOf(path)) === "_markup",
  );
  return {
    kind,
    folder,
    settings,
    hasLinkHook,
    roots: [...new Set(roots)],
    statics,
    prefixes: new Set(prefixes),
  };
}

const SITE_CODE = /^(?:docusaurus|astro|next|nuxt|gatsby)\.config\.\w+$|^redirects\.\w+$/;
const PYTHON_SITE = /^(?:mkdocs\.ya?ml|conf\.py|zensical\.toml)$/;
/** The files that redirect, how to find the routes in them, and each route in such a list. */
const REDIRECTS = [
  [
    /^(?:docs|mint|vercel|staticwebapp\.config|\.openpublishing\.redirection.*)\.json$|^redirects?\.\w+$/i,
    /"(?:source|source_path|source_path_from_root|route|from)"\s*:\s*"([^"]{1,500})"/g,
  ],
  [/^_redirects(?:\.txt)?$/, /^\s*(\/\S{0,500})/gm],
  [/^netlify\.toml$/, /^\s*from\s*=\s*"([^"]{1,500})"/gm],
  [PYTHON_SITE, /^\s+["']?([\w./-]{1,300}\.md)["']?\s*:\s*\S/gm],
  [PYTHON_SITE, /^\s+["']([\w./-]{1,300})["']\s*:\s*["']/gm],
  [SITE_CODE, /\b(?:from|source)\s*:\s*["'`]([^"'`]{1,300})/g],
  [SITE_CODE, /\bfrom\s*:\s*\[([^\]]{1,5000})\]/g, /["'`]([^"'`]{1,300})["'`]/g],
  [SITE_CODE, /\bredirects\s*:\s*\{([^]{1,20000}?)\n\s{0,4}\}/g, /^\s*["'`](\/[^"'`]{1,300})["'`]\s*:/gm],
];

/** Routes that lead elsewhere. What isn't understood redirects nothing. */
function readRedirects(tree) {
  const routes = new Set();
  const patterns = [];
  const add = (route) => {
    const parts = route
      .replace(/^https?:\/\/[^/]+/, "")
      .toLowerCase()
      .split("/")
      .filter(Boolean);
    const wild = parts.findIndex((part) => /[:*(]/.test(part));
    if (wild < 0) routes.add(routeKey(parts.join("/")));
    else if (wild > 0) patterns.push(parts);
  };
  for (const path of tree.files) {
    const name = posix.basename(path);
    for (const [file, pattern, each] of REDIRECTS) {
      if (!file.test(name)) continue;
      for (const [, found] of (tree.read(path) ?? "").matchAll(pattern)) {
        for (const route of each ? [...found.matchAll(each)].map(([, one]) => one) : [found]) {
          add(route);
          if (!route.startsWith("/")) add(join(folderOf(path), route) ?? route);
        }
      }
    }
  }
  return { routes, patterns };
}

/**
 * True if a route has the form of a redirect: `a/:b` is one part more than `a`, `a/*` any number.
 */
function hasForm(parts, pattern) {
  for (const [index, part] of pattern.entries()) {
    if (/\*|\(/.test(part)) return true;
    if (index >= parts.length || !(part.startsWith(":") || part === parts[index])) return false;
  }
  return parts.length === pattern.length;
}

/**
 * A route or a page's path in one spelling: `a/b` for `/a/b/`, `a/b.html`, `a/b.md` and
 * `a/b/index.md`.
 */
function routeKey(path) {
  return withoutEnding(path.replace(/^\/+|\/+$/g, ""))
    .replace(/(?:^|\/)(?:_?index|readme)$/i, "")
    .replace(/\/+$/, "");
}

/**
 * The spellings of a route: without the numbers that Docusaurus leaves out, and as Astro and Hugo
 * write it.
 */
function routeVariants(key) {
  const dated = key.replace(/(\d{4})-(\d\d)-(\d\d)[-/]/, "$1/$2/$3/");
  const unnumbered = key.replace(/(^|\/)\d+[-_. ]+(?=[^/])/g, "$1");
  return new Set(
    [key, dated, unnumbered].flatMap((route) => [
      route,
      route
        .toLowerCase()
        .replace(/[ ]/g, "-")
        .replace(/[^\p{L}\p{N}\p{M}_/-]/gu, ""),
      route.toLowerCase(),
    ]),
  );
}

/**
 * The pages behind each route of a site, and the folders in which routes are. A page may be
 * unknown: null.
 */
function readRoutes(tree, site) {
  const routes = new Map();
  const add = (key, path) => {
    for (const route of routeVariants(key)) entryOf(routes, route, () => new Set()).add(path);
  };
  for (const root of site.roots) {
    for (const path of tree.files) {
      if ((root && !path.startsWith(`${root}/`)) || !ROUTE_ENDING.test(path)) continue;
      if (/\.(?:[jt]sx?|vue|astro|txt)$/.test(path) && !/(?:^|\/)(?:src\/)?pages\//.test(path)) continue;
      const key = routeKey(root ? path.slice(root.length + 1) : path);
      add(key, path);
      const [first] = key.split("/", 1);
      if (LANGUAGE.test(first)) add(key.slice(first.length + 1), path);
      if (!PAGE.test(path)) continue;
      for (const route of tree.namesOf(path)) {
        add(routeKey(route), path);
        if (!route.startsWith("/")) add(routeKey(`${folderOf(key)}/${route}`), path);
      }
    }
  }
  const folders = new Set();
  for (const route of routes.keys())
    for (let at = folderOf(route); at !== ""; at = folderOf(at)) folders.add(at);
  return { routes, folders };
}

/** The ways in which MyST, Sphinx and notebooks give something a label. */
const LABELS = [
  /\(([^()\n]{1,200})\)(?:=|\s*$)/gm,
  /\.\. _`?([^`:\n]{1,200})`?:/g,
  /\b(?:name|label|id)["']?\s*[:=]\s*["']?([^\s"'\\,}]{1,200})/g,
  /\\label\{([^{}\n]{1,200})\}/g,
];

// --- Where a link leads

/** The tree with what was read of it so far. */
class Docs {
  constructor(tree, readers) {
    Object.assign(this, tree);
    this.readers = readers;
    this.texts = new Map();
    this.pages = new Map();
    this.verdicts = new Map();
    this.plainHeadings = new Map();
    this.routes = new Map();
    this.includes = new Map();
    /** The routes of pages that were removed. */
    this.gone = new Set();
    this.sites = findSites(this);
    this.siteByPath = new Map();
    this.plain = { kind: "plain", folder: "", settings: "", roots: [""], statics: [""], prefixes: new Set() };
  }

  /** The text of a file, or null if it is too large. */
  read(path) {
    let text = this.texts.get(path);
    if (text === undefined) {
      text =
        statSync(path).size > 4 * MAX_PAGE_CHARACTERS
          ? null
          : readFileSync(path, "utf8").replace(/^\uFEFF/, "");
      if (text !== null && text.length > MAX_PAGE_CHARACTERS) text = null;
      this.texts.set(path, text);
    }
    return text;
  }

  /** The site that a page belongs to: that of the deepest folder of content. */
  siteOf(path) {
    return entryOf(this.siteByPath, path, () => this.#findSiteOf(path));
  }

  #findSiteOf(path) {
    let found = this.plain;
    let depth = -1;
    for (const site of this.sites) {
      for (const root of site.roots) {
        if ((root === "" || path.startsWith(`${root}/`)) && root.length > depth) {
          found = site;
          depth = root.length;
        }
      }
    }
    return found;
  }

  /**
   * What a page's front matter says of its routes: `slug`, `permalink`, and where it was before.
   */
  namesOf(path) {
    const { head } = splitFrontMatter((this.read(path) ?? "").slice(0, 20_000));
    const names = [];
    const pattern =
      /^(?:slug|id|url|permalink|aliases|redirect_from|redirects?|alias)\s*[:=]((?:.*)(?:\r?\n\s*-\s.*)*)/gm;
    for (const [, value] of head.matchAll(pattern)) {
      for (const [name] of value.matchAll(/[^\s"'[\],]+/g)) if (name !== "-") names.push(name);
    }
    return names;
  }

  page(path) {
    let page = this.pages.get(path);
    if (page === undefined) {
      const text = this.read(path);
      const { kind } = this.siteOf(path);
      if (text === null) page = null;
      else if (MARKDOWN.test(path)) {
        page = new MarkdownPage(
          text,
          this.readers,
          /\.mdx$/i.test(path) || kind === "docusaurus" || kind === "mintlify",
        );
      } else if (/\.rst$/i.test(path)) page = readRestructuredText(text);
      else if (/\.a(?:doc|sciidoc)$/i.test(path)) page = readAsciiDoc(text);
      else if (/\.html?$/i.test(path) || COMPONENT.test(path))
        page = readHtmlPage(text, COMPONENT.test(path));
      else page = null;
      this.pages.set(path, page);
    }
    return page;
  }

  routesOf(site) {
    return entryOf(this.routes, site, () => readRoutes(this, site));
  }

  /** The paths of files that a page shows, with null for a file that isn't known. */
  includesOf(path) {
    return entryOf(this.includes, path, () => (PAGE.test(path) ? findIncludes(this, path) : []));
  }

  get redirects() {
    this.readRedirects ??= readRedirects(this);
    return this.readRedirects;
  }

  /** Every place, by its path in small letters. */
  get anyCase() {
    this.inSmallLetters ??= new Map([...this.places.keys()].map((place) => [place.toLowerCase(), place]));
    return this.inSmallLetters;
  }

  isRedirected(route) {
    const { routes, patterns } = this.redirects;
    const key = route.toLowerCase();
    const parts = key.split("/");
    return routes.has(key) || patterns.some((pattern) => hasForm(parts, pattern));
  }

  /** True if the file of a page is known to have moved. */
  isMoved(path) {
    return PAGE.test(path) && this.redirects.routes.has(routeKey(path).toLowerCase());
  }

  isClosed(path) {
    return this.closed.some((folder) => path === folder || path.startsWith(`${folder}/`));
  }

  /**
   * The files that a path may mean. Empty for a folder without a page. Null if there is nothing.
   */
  at(path, anyCase) {
    const bare = path.replace(/\.html?$/i, "").replace(/(?:^|\/)index$/, "");
    for (const place of [path, bare]) {
      const spelled = anyCase ? (this.anyCase.get(place.toLowerCase()) ?? place) : place;
      if (this.places.has(spelled)) return this.places.get(spelled);
    }
    return null;
  }

  /** True if the path of some file or folder ends so, or some route of this site. */
  hasEnding(path, site) {
    const tail = `/${path.replace(/^(?:\.{0,2}\/)+|\/+$/g, "")}`;
    const named = this.byName.get(posix.basename(tail)) ?? [];
    if (named.some((other) => `/${other}`.endsWith(tail))) return true;
    if (site === undefined) return false;
    const routed = `/${routeKey(tail)}`;
    for (const key of this.routesOf(site).routes.keys()) if (`/${key}`.endsWith(routed)) return true;
    return false;
  }

  /** True if a page has an anchor, or may have it by what it includes. */
  hasAnchor(path, anchor, depth = 0) {
    return entryOf(this.verdicts, `${path}#${anchor}`, () => this.#looksForAnchor(path, anchor, depth));
  }

  #looksForAnchor(path, anchor, depth) {
    if (!this.isWhole && this.#hasPlainHeading(path, anchor)) return true;
    const page = this.page(path);
    if (page === null || page.isOpen || page.isTangled) return true;
    if (page.ids.has(anchor)) return true;
    const { kind, settings } = this.siteOf(path);
    const sluggers = settings.includes("pymdownx.slugs") ? [...SLUGGERS, CASED_SLUGGER] : SLUGGERS;
    page.byLetters ??= indexHeadings(page);
    if (isMadeOfHeading(kind === "plain" ? anchor.toLowerCase() : anchor, page.byLetters, sluggers))
      return true;
    return this.includesOf(path).some(
      (file) => file === null || (depth < 5 && this.hasAnchor(file, anchor, depth + 1)),
    );
  }

  /** True if a page of simple Markdown has an anchor's heading, without reading the rest of it. */
  #hasPlainHeading(path, anchor) {
    if (!MARKDOWN.test(path) || this.pages.has(path)) return false;
    if (!this.plainHeadings.has(path)) {
      const { body } = splitFrontMatter(this.read(path) ?? "");
      const isSimple = !/<(?:!--|pre|script|style|svg|textarea)|\{\/\*|^\s*(?:`{3,}|~{3,})\s*\{/m.test(body);
      const lines = isSimple ? withoutSamples(body).matchAll(/^#{1,6} +([\p{L}\p{N} -]+)$/gmu) : [];
      this.plainHeadings.set(path, new Map([...lines].map(([, text]) => [lettersOf(text), text])));
    }
    const heading = this.plainHeadings.get(path).get(lettersOf(anchor));
    return heading !== undefined && slugsOf([heading], SLUGGERS.slice(0, 1)).has(anchor);
  }

  /** Every label of the project, for generators whose links may name one from any page. */
  get labels() {
    if (!this.allLabels) {
      this.allLabels = new Set();
      for (const path of this.files) {
        if (!/\.(?:md|rst|ipynb|txt|ya?ml)$/.test(path)) continue;
        for (const pattern of LABELS) {
          for (const [, id] of (this.read(path) ?? "").matchAll(pattern))
            this.allLabels.add(id.toLowerCase());
        }
        for (const [, text] of (this.read(path) ?? "").matchAll(/^#{1,6} +(.{1,300})$/gm))
          this.allLabels.add(spelledOut(text));
      }
    }
    return this.allLabels;
  }
}

/** The containers of VitePress and others, which look like mkdocstrings' blocks. */
const CONTAINERS = [
  "tip",
  "info",
  "warning",
  "danger",
  "details",
  "note",
  "caution",
  "important",
  "code-group",
];
const CONTAINER = new RegExp(
  `^::: *(?:${CONTAINERS.join("|")}|raw|v-pre|steps|tab|moniker|zone|row|column|card)`,
  "i",
);

/** A text without its fences, but for those of MyST's directives. */
function withoutSamples(text) {
  let fence = null;
  const kept = text.split("\n").filter((line) => {
    const [, marker, info] = /^[ \t]*(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (marker === undefined) return fence === null;
    if (fence === null && !/^\s*\{/.test(info)) fence = marker;
    else if (fence !== null && info.trim() === "" && marker.startsWith(fence)) fence = null;
    else return fence === null;
    return false;
  });
  return kept.join("\n");
}

/** Pictures, data and code, as they are shown on pages. */
const WITHOUT_ANCHORS =
  /\.(?:png|jpe?g|gif|svg|webp|avif|bmp|mp4|webm|json5?|ya?ml|toml|s?css|less|py|sh|go|rs|java|c|cpp|rb)$/i;

function findIncludes(docs, path) {
  const text = withoutSamples(docs.read(path) ?? "");
  const { kind } = docs.siteOf(path);
  const named = [];
  const folder = folderOf(path);
  const patterns = [
    /^\s*(?:;?--8<--|-8<-)\s*"([^"\n]{1,300})"/gm,
    /\{!\s*(\S{1,300})\s*!\}/g,
    /<!--\s*@include:\s*([^\s#{]{1,300})/g,
    /\[!INCLUDE\s*\[[^\]\n]{0,300}\]\(([^)\n]{1,300})\)/gi,
    /^`{3,}\s*\{include\}\s*(\S{1,300})/gm,
    /^\s*import\s+[\w{},\s*]{1,300}\s+from\s*["']((?:[.~/]|@site|@\/|@components|src\/)[^"'\n]{1,300})["']/gm,
    /\{\{<\s*(?:readfile|\w*include\w*)\s+(?:file=)?["']?([^\s"'>]{1,300})/gi,
    /\{\{%\s*\w+\s+(?:file=)?["']?([^\s"'%]{1,300})/g,
    /^\s*(::: [\w.]{1,200})\s*$/gm,
    /^\s*(\{%[^\n]{0,300}include[^\n]{0,300}%\})\s*$/gm,
    ...(["mkdocs", "jekyll", "plain"].includes(kind) ? [/^\s*(\{\{[^<%\n][^\n]{0,300}\}\})\s*$/gm] : []),
    /^\s*(<Snippet\b|`{3,}\s*\{(?:auto|eval-rst|toctree))/gm,
  ];
  for (const [, name] of text.matchAll(/^\{\{[<%]\s*([\w-]{1,100})\s*[%>]\}\}\s*$/gm)) {
    if (!new RegExp(`\\{\\{[<%]\\s*/${name}`).test(text)) named.push("{");
  }
  for (const pattern of patterns) {
    for (const [, name] of text.matchAll(pattern)) if (!CONTAINER.test(name)) named.push(name);
  }
  const files = named.map((shown) => {
    if (/^(?:::: |\{|<|`)/.test(shown)) return null;
    const name = shown.replace(/\?.*$/s, "");
    const here = join(folder, name);
    const tail = name.replace(/^(?:@\w*|~)?\/|^(?:\.{1,2}\/)+/, "");
    const file = here !== null && docs.at(here, false)?.[0];
    const found =
      file || (docs.byName.get(posix.basename(tail)) ?? []).find((other) => `/${other}`.endsWith(`/${tail}`));
    return found && docs.files.has(found) ? found : null;
  });
  return files.filter((file) => file === null || !WITHOUT_ANCHORS.test(file));
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** True if a link leads out of the tree, or is written for something that fills it in. */
function isElsewhere(link) {
  return (
    /^[a-z][a-z0-9+.-]*:/i.test(link) ||
    link.startsWith("//") ||
    /[{}<>`|*$\s]|%7B|\.\.\.|&lt;/i.test(link.replace(/ /g, "")) ||
    /^(?:@(?!site\/)|~|!|%|\^)/.test(link)
  );
}

/** The fault of a link on a page, or null. It doesn't name the page. */
function faultOf(docs, path, { link, isMarkdown }) {
  const written = link.trim().replaceAll("&amp;", "&");
  if (written === "" || isElsewhere(written)) return null;
  const [, before, hash] = /^([^#]*)(?:#(.*))?$/s.exec(written);
  const query = before.indexOf("?");
  const target = decoded(query >= 0 ? before.slice(0, query) : before);
  const anchor = decoded((hash ?? "").replace(/:~:.*$/s, "")).replace(/^user-content-/, "");
  const site = docs.siteOf(path);
  const place =
    target === ""
      ? { pages: [path] }
      : findTarget(
          docs,
          site,
          path,
          site.kind === "docfx" ? target.replaceAll("\\", "/") : target,
          isMarkdown,
        );
  if (place.fault) return place.fault;
  if (place.pages.length === 0 || FRAME_ANCHORS.test(anchor)) return null;
  if (target === "" && isPartial(docs, path)) return null;
  if (site.kind === "sphinx" && docs.labels.has(anchor.toLowerCase())) return null;
  const pages = place.pages.filter((page) => page === null || PAGE.test(page) || /\.html?$/i.test(page));
  if (pages.length === 0 || pages.some((page) => page === null || docs.hasAnchor(page, anchor))) return null;
  return `no heading or id is called "${anchor}" there`;
}

/** A page that others show, or that is filled in, so that its links may be read from elsewhere. */
function isPartial(docs, path) {
  if (docs.siteOf(path).kind === "jekyll") return /(?:^|\/)_(?:includes|layouts)\//.test(path);
  return /(?:^|\/)(?:_(?!index)|(?:snippets?|includes?|partials?|shared)\/)/i.test(path) || isTemplate(path);
}

function isTemplate(path) {
  return /(?:^|\/)(?:templates?|archetypes|layouts)\//i.test(path);
}

const UNSURE = { pages: [] };

function findTarget(docs, site, path, target, isMarkdown) {
  if (target.startsWith("@site/")) {
    const file = join(site.folder, target.slice(6));
    return file === null ? UNSURE : (found(docs, site, file) ?? { fault: "it isn't there" });
  }
  if (target.startsWith("/")) return findRoute(docs, site, target, isMarkdown);
  return findRelative(docs, site, path, target, isMarkdown);
}

/** The pages at a path. UNSURE for a place that isn't read, and null if nothing is there. */
function found(docs, site, file) {
  const pages = docs.at(file, site.kind === "docfx");
  return pages ? { pages } : docs.isClosed(file) ? UNSURE : null;
}

/**
 * The folders that a page's links may be relative to. A browser resolves a link by the page's
 * address, which may be a folder deeper or less deep than its file.
 */
function foldersOf(path) {
  const folder = folderOf(path);
  return [folder, isIndex(path) ? folderOf(folder) : withoutEnding(path)];
}

function findRelative(docs, site, path, target, isMarkdown) {
  const folder = folderOf(path);
  const here = join(folder, target);
  const isFile = PAGE.test(target) || PICTURE.test(target) || /\.ipynb$/i.test(target);
  const isByAddress = !isFile || !isMarkdown || ["hugo", "jekyll", "mintlify", "astro"].includes(site.kind);
  const folders = isByAddress ? foldersOf(path) : [folder];
  if (["docusaurus", "hugo"].includes(site.kind) && isFile)
    folders.push(site.folder, rootOf(site, path), ...site.statics);
  const places = [...new Set(folders)].map((base) => join(base, target));
  const there = places
    .map((place) => (place === null ? null : found(docs, site, place)))
    .filter((at) => at !== null);
  if (there.length > 0) return { pages: there.flatMap(({ pages }) => pages) };
  const keys = places.flatMap((place) => (place === null ? [] : routesIn(site, place)));
  if (!isFile || site.kind === "mintlify") {
    const { routes } = docs.routesOf(site);
    const routed = keys.flatMap((key) => [...(routes.get(key) ?? [])]);
    if (routed.length > 0) return { pages: routed };
  }
  if (here === null || places.includes(null)) return UNSURE;
  if (isTranslated(docs, here) || /^[A-Z][A-Z\d_]+$/.test(target)) return UNSURE;
  // Some page may show it from where the link is right, if anything is called so.
  const isShown = isPartial(docs, path);
  if (
    (isShown && (isTemplate(path) || !target.includes("/") || docs.hasEnding(target, site))) ||
    docs.isMoved(here) ||
    keys.some((key) => (isFile ? docs.isMoved(`${key}.md`) : docs.isRedirected(key)))
  )
    return UNSURE;
  const other = otherCase(docs, here);
  if (other) return { fault: `it is spelled "${other}"` };
  if (isFile || isShown) return { fault: "it isn't there" };
  if (site.kind === "sphinx" && docs.labels.has(target.toLowerCase())) return UNSURE;
  // DocFX makes these of code.
  if (site.kind === "docfx" && /\.ya?ml$/i.test(target)) return UNSURE;
  if (MADE.test(target) || MADE_ROUTE.test(target) || (site.hasLinkHook && !/[./]/.test(target)))
    return UNSURE;
  if (keys.some((key) => docs.gone.has(key))) return { fault: "it isn't there" };
  if (site.kind !== "plain" && docs.namesOf(path).some((name) => name.includes("/"))) return UNSURE;
  const isKnownFolder = site.kind === "plain" || places.some((place) => docs.folders.has(folderOf(place)));
  return isKnownFolder && site.kind !== "sphinx" ? { fault: "it isn't there" } : UNSURE;
}

/** True if a path is there in another language, which generators may show instead. */
function isTranslated(docs, path) {
  const shape = (other) =>
    other
      .split("/")
      .map((part) => (LANGUAGE.test(part) ? "*" : part))
      .join("/");
  const shaped = shape(path);
  return (
    shaped !== path && (docs.byName.get(posix.basename(path)) ?? []).some((other) => shape(other) === shaped)
  );
}

/** The routes that a path may have in a site. */
function routesIn(site, place) {
  const roots = site.roots.filter((root) => root === "" || place === root || place.startsWith(`${root}/`));
  return roots.map((root) => routeKey(root ? place.slice(root.length + 1) : place));
}

/** The deepest folder of content that a page is in. */
function rootOf(site, path) {
  return (
    site.roots.filter((root) => path.startsWith(`${root}/`)).toSorted((a, b) => b.length - a.length)[0] ??
    site.folder
  );
}

/** The spelling of a path that exists with capitals in other places, or null. */
function otherCase(docs, path) {
  const spelled = docs.anyCase.get(path.toLowerCase());
  return spelled === undefined ? null : posix.basename(spelled);
}

/** True if a language shows no other's pages for those that it lacks. */
function isOwnLanguage(docs, site, part) {
  if (!LANGUAGE.test(part)) return false;
  if (site.settings.includes("defaultLocale"))
    return new RegExp(`\\bdefaultLocale["']?\\s*[:=]\\s*["']${part}["']`).test(site.settings);
  return (
    ["mintlify", "vitepress"].includes(site.kind) &&
    site.roots.some((root) => docs.folders.has(join(root, part)))
  );
}

function findRoute(docs, site, target, isMarkdown) {
  const bare = target.replace(/^\/+|\/+$/g, "");
  if (bare === "") return UNSURE;
  const candidates = [bare];
  for (let rest = bare; candidates.length < 5;) {
    const [first] = rest.split("/", 1);
    if (isOwnLanguage(docs, site, first)) break;
    if (first === rest || !(site.prefixes.has(first) || LANGUAGE_OR_VERSION.test(first))) {
      if (site.prefixes.has(first) || LANGUAGE_OR_VERSION.test(first)) return UNSURE;
      break;
    }
    rest = rest.slice(first.length + 1).replace(/^\/+/, "");
    candidates.push(rest);
  }
  const { routes, folders } = docs.routesOf(site);
  // A language or a version that has no such page may show another's, but its own comes first.
  for (const candidate of candidates) {
    const pages = [];
    let isThere = false;
    for (const folder of new Set(["", site.folder, ...site.roots, ...site.statics])) {
      const file = join(folder, candidate);
      const hit = file === null ? UNSURE : found(docs, site, file);
      if (hit) {
        isThere = true;
        pages.push(...hit.pages);
      }
    }
    const key = routeKey(candidate);
    const byRoute = routes.get(key) ?? (site.kind === "hugo" ? routes.get(key.toLowerCase()) : null);
    for (const page of byRoute ?? []) {
      isThere = true;
      pages.push(page);
    }
    if (isThere) return { pages: [...new Set(pages)] };
    if (docs.isRedirected(key)) return UNSURE;
  }
  const isPage = PAGE.test(bare);
  if (isPage || PICTURE.test(bare)) {
    if (candidates.some((candidate) => docs.hasEnding(candidate))) return UNSURE;
    // In Mintlify, such a picture is below the top, also in HTML.
    const isBelow = site.kind === "mintlify" && docs.folders.has(join(site.folder, folderOf(bare)));
    const isSure = isPage || isBelow || (isMarkdown && site.kind !== "docfx");
    return isSure ? { fault: "it isn't there" } : UNSURE;
  }
  const keys = candidates.map(routeKey);
  if (keys.some((key) => docs.gone.has(key))) return { fault: "it isn't there" };
  if (
    !KNOWN_ROUTES.has(site.kind) ||
    MADE_ROUTE.test(bare) ||
    MADE.test(bare) ||
    /\.\w{1,5}$/.test(withoutEnding(bare))
  )
    return UNSURE;
  if (
    site.kind === "mintlify" &&
    /"(?:openapi|asyncapi)"\s*:/.test(site.settings) &&
    /api|reference|webhook/i.test(bare)
  )
    return UNSURE;
  const isOfRoot =
    candidates.length > 1 && site.roots.some((root) => posix.basename(root) === bare.split("/", 1)[0]);
  const isAtTop =
    !candidates.at(-1).includes("/") && (isOfRoot || ["mintlify", "astro", "vitepress"].includes(site.kind));
  return isAtTop || keys.some((key) => folders.has(folderOf(key)))
    ? { fault: "no page has this route" }
    : UNSURE;
}

// --- The command

/** A target of a link without what comes after its path. */
function pathOfLink(link) {
  return decoded(link.replaceAll("&amp;", "&").split(/[#?]/, 1)[0]).replaceAll("\\", "/");
}

/** A route as it is in the language that a site shows to all. */
function withoutLanguage(route) {
  const [first] = route.split("/", 1);
  return LANGUAGE_OR_VERSION.test(first) ? route.slice(first.length + 1) : route;
}

const INDEX = String.raw`(?:_?index|readme)(?:\.\w+)?`;
const INDEX_NAME = new RegExp(`^${INDEX}$`);

/** The changed files, by the paths, routes and labels by which a link may name them. */
class Changes {
  /** In small letters, without the endings of pages. */
  #spellings = new Set();
  #byName = new Map();
  #pages = new Set();
  #names = null;
  #docs;

  constructor(docs, paths) {
    this.#docs = docs;
    for (const path of paths) this.add(path);
  }

  add(path) {
    const docs = this.#docs;
    this.#pages.add(path);
    this.#names = null;
    const text = PAGE.test(path) && docs.files.has(path) ? (docs.read(path) ?? "") : "";
    const keys = [path.replace(ROUTE_ENDING, ""), routeKey(path), ...routesIn(docs.siteOf(path), path)];
    if (text) keys.push(...docs.namesOf(path).map(routeKey));
    for (const [, ...ids] of text.matchAll(/^\s*\(([^()\n]{1,200})\)=|^\s*\.\. _`?([^`:\n]{1,200})`?:/gm))
      keys.push(...ids.filter(Boolean));
    keys.push(...keys.map(withoutLanguage));
    for (const spelling of keys.flatMap((key) => [...routeVariants(key)]).map((key) => key.toLowerCase())) {
      if (spelling === "" || this.#spellings.has(spelling)) continue;
      this.#spellings.add(spelling);
      entryOf(this.#byName, posix.basename(spelling)).push(spelling);
    }
  }

  has(path) {
    return this.#pages.has(path);
  }

  /** True if a link on a page may lead to something that changed. */
  concern(path, link) {
    if (this.has(path)) return true;
    const target = pathOfLink(link);
    if (target === "") return false;
    if (/^[/@~]/.test(target) || isPartial(this.#docs, path)) return this.#isEndOf(target);
    if (this.#spellings.has(target.toLowerCase())) return true;
    const name = posix.basename(routeKey(target)).toLowerCase();
    if (!/^\.*$/.test(name) && !this.#byName.has(name)) return false;
    const site = this.#docs.siteOf(path);
    const bases = [...foldersOf(path), site.folder, rootOf(site, path), ...site.statics];
    return bases.some((base) => {
      const place = join(base, target);
      return (
        place !== null &&
        [place, place.replace(ROUTE_ENDING, ""), routeKey(place), ...routesIn(site, place)].some((key) =>
          this.#spellings.has(key.toLowerCase()),
        )
      );
    });
  }

  /**
   * Says how a page's text names what changed: "not" at all, only in links that are "right", or
   * "somehow". In the last case the whole page has to be read.
   */
  areNamedOn(path) {
    const text = this.#docs.read(path) ?? "";
    let named = "not";
    for (const { 0: name, index } of text.matchAll(this.#pattern)) {
      let start = index;
      while (start > 0 && index - start < 300 && !/[\s"'`()<>[\]{}|,;=]/.test(text[start - 1])) start--;
      const after = /^[^\s"'`()<>[\]{}|,;]*/.exec(text.slice(index + name.length, index + name.length + 300));
      const token = text.slice(start, index + name.length) + after[0];
      const opening = text.slice(Math.max(0, start - 7), start);
      // A word of a sentence names no path.
      if (!/[./]/.test(token) && !/(?:["'(<={]|\]:)\s{0,4}$/.test(opening)) continue;
      const link = /(?:\]\(|\]:\s{0,4}|(?:href|src)=["'])$/.exec(opening)?.[0];
      if (!(link ? this.concern(path, token) : this.#isEndOf(token))) continue;
      const next = text[start + token.length] ?? "\n";
      const isWhole = link && (/\s/.test(next) || next === { "(": ")" }[link[1]] || next === link.at(-1));
      if (!isWhole || faultOf(this.#docs, path, { link: token, isMarkdown: link[0] === "]" }) !== null)
        return "somehow";
      named = "right";
    }
    return named;
  }

  /** True if a path, or the end of it, is the end of a path that changed. */
  #isEndOf(target) {
    const tail = pathOfLink(target)
      .toLowerCase()
      .replace(/^@site\/|^~?\/+|^(?:\.{1,2}\/)+/g, "");
    const keys = [tail, withoutLanguage(tail)].flatMap((key) => [
      key,
      key.replace(ROUTE_ENDING, ""),
      routeKey(key),
    ]);
    return keys.some((key) =>
      (this.#byName.get(posix.basename(key)) ?? []).some(
        (spelling) => `/${spelling}`.endsWith(`/${key}`) || `/${key}`.endsWith(`/${spelling}`),
      ),
    );
  }

  /** Finds the words by which a page's text names something that changed. */
  get #pattern() {
    return (this.#names ??= this.#patternOfNames());
  }

  #patternOfNames() {
    const names = [...this.#byName.keys()]
      .filter((name) => !INDEX_NAME.test(name))
      .flatMap((name) => [name, encodeURI(name)]);
    const escaped = [...new Set(names)].map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    // A link to the page of a folder may be without its name.
    const index = [...this.#pages].some(isIndex)
      ? [String.raw`(?<=[("'=<] ?)(?:\.{1,2}[./]*(?:${INDEX})?|${INDEX})(?=[)"'#?>])`]
      : [];
    const named = escaped.length > 0 ? [`(?<![\\p{L}\\p{N}])(?:${escaped.join("|")})(?![\\p{L}\\p{N}])`] : [];
    return new RegExp([...named, ...index].join("|") || "$^", "giu");
  }
}

/** True for settings in which redirects and places of pages are, so that any link may change. */
function isSettings(path) {
  const name = posix.basename(path);
  return REDIRECTS.some(([file]) => file.test(name)) || GENERATORS.some(([, file]) => file.test(path));
}

/**
 * The pages to read, each with the way in which it names what changed: all pages, or those that
 * changed, those that name a changed one, and those that show such a page on themselves.
 */
function choosePages(docs, all, changes) {
  if (changes === null) return new Map(all.map((path) => [path, "somehow"]));
  const named = new Map();
  for (let depth = 0, isNew = true; isNew && depth < 5; depth++) {
    isNew = false;
    for (const path of all) named.set(path, changes.has(path) ? "somehow" : changes.areNamedOn(path));
    for (const path of all) {
      const mayShow = named.get(path) === "somehow" && !changes.has(path);
      if (!mayShow || !docs.includesOf(path).some((file) => file !== null && changes.has(file))) continue;
      changes.add(path);
      isNew = true;
    }
  }
  return new Map([...named].filter(([, how]) => how !== "not"));
}

function inert(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").slice(0, 300);
}

function findingsOn(docs, path, changes) {
  const page = docs.page(path);
  if (page === null)
    return docs.read(path) === null
      ? [`${inert(path)}:1 this page is larger than a million characters, so its links were not looked at`]
      : [];
  const findings = page.isTangled
    ? [`${inert(path)}:1 this page's tags are too tangled to be read to the end`]
    : [];
  for (const link of page.links) {
    if (changes !== null && !changes.concern(path, link.link)) continue;
    const fault = faultOf(docs, path, link);
    if (fault) findings.push(`${inert(path)}:${link.line} ${inert(link.link)}: ${inert(fault)}`);
  }
  return findings;
}

async function main(args) {
  // Its single file for require loads in half the time of its modules.
  const markdownIt = createRequire(import.meta.url)("markdown-it");
  const divider = args.indexOf("--");
  const options = divider < 0 ? args : args.slice(0, divider);
  const unknown = options.find((option) => option !== "--proof");
  if (unknown !== undefined) throw new Error(`${unknown} is no option. Options: --proof -- PATHS`);
  const changed = divider < 0 ? [] : args.slice(divider + 1).map((path) => posix.normalize(path));
  const tree = readTree();
  const gone = new Set(changed.filter((path) => !tree.files.has(path)));
  const docs = new Docs(tree, {
    plain: markdownReader(markdownIt, false),
    jsx: markdownReader(markdownIt, true),
  });
  for (const path of gone)
    if (PAGE.test(path))
      for (const key of routesIn(docs.siteOf(path), path).flatMap((key) => [...routeVariants(key)]))
        docs.gone.add(key);
  const all = [...tree.files]
    .filter((path) => PAGE.test(path) && !/(?:^|\/)\./.test(path))
    .toSorted((a, b) => (a < b ? -1 : 1));
  const changes = changed.length === 0 || changed.some(isSettings) ? null : new Changes(docs, changed);
  docs.isWhole = changes === null;
  const pages = choosePages(docs, all, changes);
  const findings = [...pages].flatMap(([path, how]) =>
    how === "right" ? [] : findingsOn(docs, path, changes),
  );
  const output = [
    ...findings,
    ...(options.includes("--proof") ? [`links: ${pages.size} of ${all.length} pages read`] : []),
  ];
  if (output.length > 0) process.stdout.write(`${output.join("\n")}\n`);
  return findings.length > 0 ? 1 : 0;
}

main(process.argv.slice(2)).then(
  (code) => (process.exitCode = code),
  (error) => {
    console.error(error);
    process.exitCode = 3;
  },
);
