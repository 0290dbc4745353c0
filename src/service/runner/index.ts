export { createTurnRunner, type TurnRunnerDeps } from "./create-turn-runner.ts";
export { TransientRunError } from "./run-error.ts";
