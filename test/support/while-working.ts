import type { openRunnerWorld } from "./runner-world.ts";

type World = Awaited<ReturnType<typeof openRunnerWorld>>;

/** Acts while the agent works. The agent's own program lasts until then. */
export function whileWorking(world: World, act: () => Promise<unknown>) {
  const done = world.dir.file("done");
  let acted: Promise<unknown> | undefined;
  const onLine = (line: string) => {
    if (line !== "the agent is working") return;
    acted ??= act().finally(() => void world.git("init", "--quiet", "--bare", done));
  };
  return { onLine, wait: `while [ ! -e '${done}/HEAD' ]; do sleep 0.02; done; ` };
}
