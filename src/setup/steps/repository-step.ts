import { type DoctorFinding, splitAdvice } from "../../service/cli/finding.ts";
import { envValue } from "../../service/config/env.ts";
import { ownerAndRepo, repositoryKind, repositoryOfPage } from "../../service/config/repository.ts";
import { fittingChecks, lookAtRepository } from "../look-at-repository.ts";
import { serviceSettings, TOKEN_ENV, trySettings } from "../service-settings.ts";
import type { Session } from "../session.ts";
import type { CodeHostAccess, SetupState } from "../setup-state.ts";
import { entryFault, passOn, type SetupStep } from "./step.ts";

const PARTS = ["app key", "repository", "pages", "code host", "commits"];
const OF = "service";

/** The docs repository, and how the service signs in there. */
export const repositoryStep: SetupStep = {
  id: "repository",
  title: "Docs repository",
  button: "Look at the repository",
  isDone: ({ state }) => state.repository !== undefined,
  words: async ({ state: { app } }) => [
    {
      text:
        "Docs Agent opens pull requests here. A token needs Contents and Pull requests, read and " +
        "write, for this repository alone.",
      link: {
        label: "Make a fine-grained token",
        url: "https://github.com/settings/personal-access-tokens/new",
      },
    },
    ...(app === undefined
      ? []
      : [{ text: `The GitHub App ${app.id} is used. Enter a token to use that instead.` }]),
  ],
  fields: ({ state: { repository, app } }) => [
    {
      name: "address",
      label: "Repository",
      hint: "For example https://github.com/acme/docs",
      kind: "text",
      initial: repository?.address ?? "",
    },
    {
      name: "token",
      label: "GitHub token",
      kind: "secret",
      isOptional: app !== undefined || repository !== undefined,
      ...(repository !== undefined && { hint: "Leave this empty to keep what is used now." }),
    },
  ],
  async *take(values, session) {
    const address = addressOf(values["address"] ?? "");
    const named = ownerAndRepo(address, session.options.codeHostUrl);
    if (repositoryKind(address) !== "http" || named === null) {
      const { host } = new URL(session.options.codeHostUrl);
      const found = `That isn't the https address of a repository at ${host}.`;
      const todo =
        "Correct it. For GitHub Enterprise, start with --code-host-url. For others, see docs/install.md.";
      return yield entryFault("Repository", found, todo);
    }
    const [owner = "", repo = ""] = named.split("/");
    const access = accessBy(values["token"] ?? "", session);
    if (access === null) {
      return yield entryFault("GitHub token", "There is none.", "Enter a token, or make a GitHub App.");
    }
    const token = values["token"] || envValue(session.env(), TOKEN_ENV) || undefined;
    const env = session.env(access.kind === "token" ? { [TOKEN_ENV]: token } : {});
    const checks: string[] = [];
    const first = { address, owner, repo, baseBranch: "main", checks, access };
    const seen = yield* lookedAt(first, { env, session });
    if (seen === null) return;
    const repository = { ...first, ...seen };
    const settings = serviceSettings({ repository, agent: undefined }, session, 0);
    const trying = trySettings(settings, { env, session, callModel: false, parts: PARTS });
    if (!(yield* passOn(trying))) return;
    if (access.kind === "token") session.keepVariables({ [TOKEN_ENV]: token });
    session.keep({ repository });
  },
};

type Repository = NonNullable<SetupState["repository"]>;

/** The repository's address, whichever of its pages was entered. */
function addressOf(entered: string): string {
  const given = entered.replace(/\/+$/, "");
  return (repositoryOfPage(given) ?? given).replace(/(?:\.git)?$/, ".git");
}

function accessBy(token: string, { state }: Session): CodeHostAccess | null {
  if (token !== "") return { kind: "token" };
  if (state.app !== undefined) return { kind: "app", ...state.app };
  return state.repository?.access ?? null;
}

/**
 * Finds the default branch, and the checks that fit. Returns null if the repository can't be read.
 */
async function* lookedAt(
  repository: Repository,
  { env, session }: { env: ReturnType<Session["env"]>; session: Session },
): AsyncGenerator<DoctorFinding, { baseBranch: string; checks: string[] } | null> {
  const settings = serviceSettings({ repository, agent: undefined }, session, 0);
  const read = yield* trySettings(settings, { env, session, callModel: false, parts: [] });
  if (read === null) return null;
  const about = { of: OF, part: "default branch", tried: "asked the repository, and listed its files" };
  const seen = await lookAtRepository(read, { env, clock: session.clock });
  if ("fault" in seen) {
    yield { ...about, level: "fault", ...splitAdvice(seen.fault) };
    return null;
  }
  yield { ...about, level: "ok", found: seen.branch, todo: null };
  const { usable, others } = await fittingChecks(seen.paths ?? [], env["PATH"] ?? "/usr/bin:/bin");
  const tried = "looked for the tools of checks that fit the pages";
  const found = usable.length === 0 ? "none is used" : `${usable.join(", ")}`;
  const could = others.length === 0 ? "" : `. ${others.join(", ")} would fit, too: see docs/quality.md`;
  yield { of: OF, part: "checks", level: "ok", tried, found: `${found}${could}`, todo: null };
  return { baseBranch: seen.branch, checks: usable };
}
