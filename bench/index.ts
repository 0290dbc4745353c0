import { ackBurst } from "./ack-burst.ts";
import { ack } from "./ack.ts";
import type { Bench } from "./bench.ts";
import { durability } from "./durability.ts";
import { memory } from "./memory.ts";
import { pollingCost } from "./polling-cost.ts";
import { start } from "./start.ts";

/** Every bench, in the order of the table. Together their budgets stay below three minutes. */
export const benches: readonly Bench[] = [ack, ackBurst, start, pollingCost, durability, memory];
