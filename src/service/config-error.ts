import { DocsAgentError } from "../errors.ts";

/** The job service's settings file does not make a configuration. The message lists every fault and shows no value. */
export class ServiceConfigError extends DocsAgentError {
  readonly code = "service_config";

  constructor(path: string, faults: readonly string[]) {
    const list = faults.map((fault) => `  - ${fault}`).join("\n");
    super(`The job service can't use ${path}. To fix:\n${list}\nSee service.example.yml for all settings.`);
  }
}
