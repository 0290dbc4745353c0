export type { LeftOut } from "./model-gateway.ts";
export { networkOf } from "./network-of-project.ts";
export type { ModelUpstream } from "./upstream-client.ts";
export type { ModelTrouble } from "./model-trouble.ts";
export { MAX_DATA_DIR_BYTES, newSocketPath, SOCKETS_FOLDER } from "./socket-path.ts";
export { openTurnNetwork } from "./turn-network.ts";
export type { ModelAccess, TurnNetwork, TurnUsage } from "./turn-network.ts";
