import { RunError } from "../base/run-error.ts";
import type { ServiceProject } from "../config/config.ts";
import { type Env, networkOf } from "../config/env.ts";
import { liveHost } from "../config/page-address.ts";
import { fetchPage } from "../network/egress/fetch-page.ts";
import { ReaderProcesses } from "./process/apart/apart.ts";

/**
 * Returns a function that says whether a page has the new words of a change. The page is read in
 * another process, because anybody may have written it.
 */
export function createIsLive(env: Env) {
  let readers: ReaderProcesses | null = null;
  return async (
    project: ServiceProject,
    { url, patch }: { url: string; patch: string },
    signal: AbortSignal,
  ): Promise<boolean> => {
    const { allow, proxy } = networkOf(project, env);
    const site = liveHost(project.liveUrl ?? "");
    const rules = site === null ? allow : [site, ...allow];
    const page = await fetchPage(url, { rules, proxy, signal });
    if (page === null) return false;
    readers ??= new ReaderProcesses({ processes: 1 });
    try {
      return await readers.forTurn(project.id, signal, () => []).read("hasNewWords", { patch, page });
    } catch (error) {
      // It takes too long to read, or can't be read now.
      if (error instanceof RunError) return false;
      throw error;
    }
  };
}
