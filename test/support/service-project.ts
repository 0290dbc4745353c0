import type { ServiceProject } from "../../src/service/config/config.ts";
import { COMMIT_SETTINGS, SETTINGS } from "./pull-request-texts.ts";

/** Makes a project of the service in the form that its settings give it. */
export function makeServiceProject(over: Partial<ServiceProject> = {}): ServiceProject {
  return {
    id: "docs",
    name: "Docs",
    repository: "https://git.example/acme/docs.git",
    baseBranch: "main",
    docs: ["**/*.md"],
    portableNames: true,
    agent: {
      kind: "command",
      command: ["fix-docs"],
      timeLimitMinutes: 5,
      maxOutputBytes: 65_536,
      terminal: false,
      readable: [],
      styleGuide: [],
      limits: { memoryMegabytes: 4096, processes: 512, diskMegabytes: 2048 },
    },
    codeHost: {
      kind: "github",
      apiUrl: "https://api.git.example",
      owner: "acme",
      repo: "docs",
      tokenEnv: "T",
      pollSeconds: 60,
    },
    pullRequests: SETTINGS,
    commits: COMMIT_SETTINGS,
    fork: null,
    context: [],
    verify: [],
    gitCredentialsEnv: null,
    agentEnv: [],
    models: [],
    budget: {},
    network: { allow: [], maxBytes: 1024 ** 3 },
    limits: { createsPerHour: 100, messagesPerHour: 100, jobsAtOnce: 2, queued: 100 },
    runners: { labels: [] },
    archiveAfterDays: 90,
    keepArchivedDays: 90,
    openPullRequests: 10,
    keepFresh: false,
    previewHosts: [],
    addressReviews: "ask",
    deleteMergedBranches: true,
    model: "fix-docs",
    ...over,
  };
}
