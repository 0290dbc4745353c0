import { anyEnding, PAGE_ENDINGS } from "../base/page-endings.ts";
/**
 * A generator of documentation, by the files that have its navigation. `isCode` is true for files
 * that run in the build, or that name programs which do.
 */
type Navigation = { generator: string; files: RegExp; isCode: boolean };

const CODE = String.raw`\.[cm]?[jt]sx?$`;

function navigation(generator: string, files: string, isCode = false): Navigation {
  return { generator, files: new RegExp(`(?:^|/)(?:${files})`), isCode };
}

const NAVIGATION: readonly Navigation[] = [
  navigation("Mintlify", String.raw`(?:docs|mint)\.json$`),
  // `hooks` and `plugins` of mkdocs.yml are Python.
  navigation("MkDocs", String.raw`(?:mkdocs\.ya?ml|zensical\.toml)$`, true),
  navigation("MkDocs", String.raw`\.(?:pages|nav\.ya?ml)$`),
  navigation("Docusaurus", `sidebars?${CODE}`, true),
  navigation("Docusaurus", String.raw`(?:sidebars|_category_)\.(?:json|ya?ml)$`),
  navigation("Docusaurus", `docusaurus\\.config${CODE}`, true),
  navigation("VitePress", String.raw`\.vitepress/(?:config|sidebar)(?:/[^/]+)*` + CODE, true),
  navigation("VuePress", String.raw`\.vuepress/(?:config|sidebar)(?:/[^/]+)*` + CODE, true),
  navigation("Astro", `astro\\.config${CODE}`, true),
  navigation("Nextra", `_meta${CODE}`, true),
  navigation("Nextra", String.raw`_meta\.json$`),
  navigation("Fumadocs", String.raw`content/(?:.+/)?meta\.json$`),
  navigation("Jekyll", String.raw`_data/[^/]*(?:nav|sidebar|toc)[^/]*\.(?:ya?ml|json)$`),
  // Extensions run the commands that `ext` names.
  navigation("Antora", String.raw`antora\.yml$`, true),
  navigation("Antora", String.raw`nav\.adoc$`),
  navigation("Fern", String.raw`fern/(?:.+/)?(?:docs|versions/[^/]+)\.yml$`),
  navigation("Nuxt", String.raw`content/(?:.+/)?\.navigation\.yml$`),
  navigation("Jupyter Book", String.raw`_toc\.yml$`),
  navigation("MyST", String.raw`myst\.yml$`, true),
  navigation("DocFX", String.raw`(?:toc|TOC)\.yml$`),
  navigation("Quarto", String.raw`_quarto\.yml$`, true),
  navigation("Hugo", String.raw`(?:hugo\.(?:toml|ya?ml|json)|config/_default/menus?[^/]*)$`, true),
  navigation("mdBook or GitBook", String.raw`SUMMARY\.md$`),
];

/** What tests and installed packages hold is nobody's documentation. */
const ELSEWHERE = /(?:^|\/)(?:node_modules|vendor|third_party|tests?|__tests__|fixtures|examples?)\//;
const PAGE = anyEnding(PAGE_ENDINGS, "");
/** Of names that are told. */
const MAX_NAMED = 5;

/** What a repository's documentation is made with, and what the patterns leave out of it. */
type Covered = {
  generators: string[];
  pages: number;
  coveredPages: number;
  /** Patterns for the navigation that agents may not change, and whether it is code. */
  missing: { generator: string; patterns: string[]; isCode: boolean }[];
};

/** Looks through a commit's paths for navigation. `isDoc` tells what the patterns cover. */
export function findNavigation(paths: readonly string[], isDoc: (path: string) => boolean): Covered {
  const own = paths.filter((path) => !ELSEWHERE.test(path));
  const pages = own.filter((path) => PAGE.test(path));
  const generators = new Set<string>();
  const missing: Covered["missing"] = [];
  for (const { generator, files, isCode } of NAVIGATION) {
    const found = own.filter((path) => files.test(path));
    if (found.length > 0) generators.add(generator);
    const out = found.filter((path) => !isDoc(path));
    if (out.length > 0) missing.push({ generator, patterns: patternsOf(out), isCode });
  }
  return {
    generators: [...generators],
    pages: pages.length,
    coveredPages: pages.filter(isDoc).length,
    missing,
  };
}

/** The paths, or patterns for each name if there are many. */
function patternsOf(paths: readonly string[]): string[] {
  if (paths.length <= MAX_NAMED) return [...paths];
  const names = new Set(paths.map((path) => `**/${path.split("/").at(-1)}`));
  return [...names].slice(0, MAX_NAMED);
}

/** What to know of navigation that agents may not change, or null. */
export function missingText({ missing }: Covered): string | null {
  if (missing.length === 0) return null;
  const said = missing.map(({ generator, patterns, isCode }) => {
    const why = isCode ? " (the build runs it, or what it names)" : "";
    return `${patterns.join(", ")} of ${generator}${why}`;
  });
  return (
    `Agents may not change this navigation, so new pages don't get into it: ${said.join("; ")}. ` +
    "If they may, add these names to docs."
  );
}
