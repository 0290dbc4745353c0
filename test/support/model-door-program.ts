// A model door with one open piece of work, `a`, in a process of its own. Its argument is the
// settings of {@link spawnDoor}. Prints its address.
import { ModelDoor } from "../../src/service/runners/models/model-door.ts";
import { createLogger } from "../../src/shared/machine/clock-and-log.ts";
import { modelAt, serveDoor } from "./model-door.ts";
import { makeServiceProject } from "./service-project.ts";

const { upstream, dataDir } = JSON.parse(process.argv[2] ?? "") as { upstream: string; dataDir: string };
const project = makeServiceProject({ models: [modelAt(upstream)] });
const logger = await createLogger({ level: "debug", secrets: [], pretty: false });
const door = new ModelDoor({ dataDir, logLevel: "debug", projects: [project] }, logger);
door.open("a", {
  project,
  usedBefore: null,
  onUsage: (usage) => logger.info({ usage }, "used"),
  onExceeded: (reason) => logger.info({ reason }, "exceeded"),
});
const { url } = await serveDoor(door);
process.stdout.write(`${url}\n`);
