import { ackBurst } from "./ack-burst.ts";
import { ack } from "./ack.ts";
import type { Bench } from "./bench.ts";
import { durability } from "./durability.ts";
import { memory } from "./memory.ts";
import { pollingCost } from "./polling-cost.ts";
import { start } from "./start.ts";

/** Every bench, in the order of the table. */
export const benches: readonly Bench[] = [ack, ackBurst, memory, start, pollingCost, durability];
