import { writeFileSync } from "node:fs";
import { createCodeHost } from "../../world/code-host/index.ts";
import { docsOn, putDocsOn, TEST_SETTINGS } from "./docs-on-code-host.ts";
import { ServiceFolder } from "./service-process.ts";
import { APP_TOKEN, environment, startSlackSide } from "./world.ts";

/** The code host's token, in `DOCS_TOKEN`. */
export const DOCTOR_TOKEN = "code-host-token-0123456789";

/** Both programs, set up in one folder as docs/install.md says. The service runs. */
export async function openDoctorPlace() {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await ServiceFolder.open({}, { DOCS_TOKEN: DOCTOR_TOKEN }));
  const slack = stack.use(await startSlackSide());
  const codeHost = stack.use(
    await createCodeHost({ dataDir: folder.dir.file("host"), tokens: [DOCTOR_TOKEN] }),
  );
  await putDocsOn(codeHost, folder);
  const project = { id: "docs", agent: { kind: "command", command: ["true"] }, ...docsOn(codeHost) };
  const settings = { ...TEST_SETTINGS, projects: [project] };
  folder.configure(settings);
  const key = (await folder.run("keys", "create", "--project", "docs")).stdout.trim();
  const service = await folder.serve();
  const listen = { port: Number(new URL(service.url).port) };
  folder.configure({ ...settings, listen });
  const env: Record<string, string> = {
    ...environment(slack, { baseUrl: service.url }),
    SLACK_APP_TOKEN: APP_TOKEN,
    DOCS_AGENT_API_KEY: key,
    DOCS_TOKEN: DOCTOR_TOKEN,
  };
  const write = (changed: Record<string, string> = {}) => {
    const lines = Object.entries({ ...env, ...changed }).map(([name, value]) => `${name}=${value}\n`);
    writeFileSync(folder.dir.file(".env"), lines.join(""));
  };
  write();
  return { stack, folder, settings: { ...settings, listen }, slack, codeHost, env, write, key };
}
