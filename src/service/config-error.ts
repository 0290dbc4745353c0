import { DocsAgentError } from "../errors.ts";

/** The job service's settings file does not make a configuration. The message lists every fault and shows no value. */
export class ServiceConfigError extends DocsAgentError {
  readonly code = "service_config";

  constructor(path: string, faults: readonly string[]) {
    const list = faults.map((fault) => `  - ${fault}`).join("\n");
    const what = faults.length === 1 ? "one setting" : `${faults.length} settings`;
    super(
      `The job service can't use ${path}. Fix ${what}:\n${list}\nservice.example.yml describes every setting.`,
    );
  }
}
