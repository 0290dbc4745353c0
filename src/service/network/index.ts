export { networkOf } from "./network-of-project.ts";
export type { ModelUpstream } from "./upstream-client.ts";
export { openTurnNetwork } from "./turn-network.ts";
export type { ModelAccess, TurnNetwork, TurnUsage } from "./turn-network.ts";
