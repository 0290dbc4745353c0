import { randomInt } from "node:crypto";
import { z } from "zod";
import type { DoctorFinding } from "../service/cli/finding.ts";
import { createGitHubApp } from "../service/cli/github-app.ts";
import { envValue } from "../service/config/env.ts";
import { DocsAgentError, messageOf, StartError } from "../shared/errors.ts";
import type { Programs } from "./programs.ts";
import { SETUP_PROJECT } from "./service-settings.ts";
import type { Session } from "./session.ts";
import { setupSteps } from "./steps/index.ts";
import type { SetupStep, StepField, StepValues } from "./steps/step.ts";

const APP_WITHIN_MS = 15 * 60_000;
const ASK_TIMEOUT_MS = 5_000;
const Jobs = z.object({
  jobs: z.array(
    z.object({ status: z.string(), prLink: z.string().nullish(), createdAt: z.string().nullish() }),
  ),
});

/** The first request, as far as it is. */
export type FirstRequest = { status: string; link: string | null };

/** What is going on in a setup. One step is tried at a time. */
export class SetupRun {
  readonly session: Session;
  readonly steps: readonly SetupStep[];
  /** What the last try of each step found. */
  readonly findings = new Map<string, DoctorFinding[]>();
  /** What the creation of a GitHub App says. Null if none was begun. */
  appWords: string | null = null;
  /** What was entered last, by the steps' ids. */
  readonly #entered = new Map<string, StepValues>();
  #busy: string | null = null;
  #changes = 0;

  constructor(session: Session, programs: Programs) {
    this.session = session;
    this.steps = setupSteps(programs);
  }

  /** The step that is being tried, or null. */
  get busy(): string | null {
    return this.#busy;
  }

  /** Grows with each change that a person should see. */
  get changes(): number {
    return this.#changes;
  }

  /** The first step that isn't done. Null if all are. */
  next(): SetupStep | null {
    return this.steps.find((step) => !step.isDone(this.session)) ?? null;
  }

  /** What a step asks for, filled in with what was entered last. Secrets aren't. */
  fields(step: SetupStep): StepField[] {
    const entered = this.#entered.get(step.id) ?? {};
    return step.fields(this.session).map((field) => {
      const initial = field.kind === "secret" ? undefined : entered[field.name];
      return initial === undefined ? field : { ...field, initial };
    });
  }

  /** Tries a step, unless one is being tried. Resolves to true if it is done then. */
  async take(
    step: SetupStep,
    values: StepValues,
    tell: (finding: DoctorFinding) => void = () => {},
  ): Promise<boolean> {
    if (this.#busy !== null) return false;
    this.#busy = step.id;
    this.#entered.set(step.id, values);
    const found: DoctorFinding[] = [];
    this.findings.set(step.id, found);
    this.#changes += 1;
    const add = (finding: DoctorFinding) => {
      found.push(finding);
      this.#changes += 1;
      tell(finding);
    };
    try {
      for await (const finding of step.take(values, this.session)) add(finding);
    } catch (thrown) {
      add(unforeseen(thrown));
    } finally {
      this.#busy = null;
      this.#changes += 1;
    }
    return found.every(({ level }) => level !== "fault");
  }

  /**
   * Creates a GitHub App, with what a person does at GitHub. Resolves once it is installed, or once
   * it is told why it isn't.
   */
  async makeApp(org: string, write: (text: string) => void = () => {}): Promise<void> {
    if (this.appWords !== null) return;
    this.#sayOfApp("");
    const { session } = this;
    const options = {
      org: org === "" ? undefined : org,
      name: `docs-agent-${randomInt(1e6)}`,
      keyFile: session.file("docs-agent-app.pem"),
      apiUrl: session.options.codeHostUrl,
      timeLimitMs: APP_WITHIN_MS,
      clock: session.clock,
    };
    try {
      const { id, keyFile, installationId } = await createGitHubApp({
        ...options,
        write: (text) => {
          this.#sayOfApp(text);
          write(text);
        },
      });
      if (installationId === null) throw new StartError("Nobody installed the App in time. Try again.");
      session.keep({ app: { id, keyFile, installationId } });
      this.appWords = `The App ${id} is installed. Enter the repository, and press the button below.`;
    } catch (thrown) {
      const finding = unforeseen(thrown);
      this.findings.set("repository", [finding]);
      this.appWords = null;
      write(`${finding.found}\n`);
    } finally {
      this.#changes += 1;
    }
  }

  #sayOfApp(text: string): void {
    this.appWords = (this.appWords ?? "") + text;
    this.#changes += 1;
  }

  /** The newest job of the service. Null if there is none yet. */
  async firstRequest(): Promise<FirstRequest | null> {
    const env = this.session.env();
    const [url, key] = [envValue(env, "DOCS_AGENT_BASE_URL"), envValue(env, "DOCS_AGENT_API_KEY")];
    try {
      const answer = await fetch(`${url}/v2/agent/${SETUP_PROJECT}/job`, {
        headers: { authorization: `Bearer ${key}` },
        signal: AbortSignal.timeout(ASK_TIMEOUT_MS),
      });
      const [job] = Jobs.parse(await answer.json()).jobs;
      return job === undefined ? null : { status: job.status, link: job.prLink ?? null };
    } catch {
      return null;
    }
  }
}

/** Something kept a step from being tried. Our own errors say what to do. */
function unforeseen(thrown: unknown): DoctorFinding {
  const isOurs = thrown instanceof DocsAgentError;
  return {
    of: "setup",
    part: "this step",
    level: "fault",
    tried: "tried it",
    found: messageOf(thrown),
    todo: isOurs ? null : "Try again.",
  };
}
