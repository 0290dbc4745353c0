// A thread of a reader's process. It ends the process once the one that started it is gone, also
// while the main thread is busy.
import { workerData } from "node:worker_threads";

const LOOK_EACH_MS = 1000;

setInterval(() => {
  if (process.ppid !== workerData) process.kill(process.pid, "SIGKILL");
}, LOOK_EACH_MS);
