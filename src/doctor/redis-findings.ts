import type { Logger } from "../shared/machine/ports.ts";
import { StoreUnavailableError } from "../shared/store/store-errors.ts";
import { isRedisUrl, shownStoreUrl } from "../shared/store/redis/redis-location.ts";
import { type DoctorFinding, splitAdvice } from "../service/cli/finding.ts";

const QUIET: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => QUIET };

/** How the app's Redis keeps what is in it, if it has one. */
export async function* redisFindings(storeUrl: string): AsyncGenerator<DoctorFinding> {
  if (!isRedisUrl(storeUrl)) return;
  const about = (part: string, tried: string) => ({ of: "app", part: `Redis ${part}`, tried });
  const asked = about("memory", `asked ${shownStoreUrl(storeUrl)} for maxmemory-policy`);
  try {
    const { readRedisTraits } = await import("../shared/store/redis/try-redis.ts");
    const { policy, isStandby, standbys, wanted, risks } = await readRedisTraits(storeUrl, QUIET);
    if (policy === "noeviction") yield { ...asked, level: "ok", found: policy, todo: null };
    else {
      const found = `it is ${policy}, by which Redis may remove requests`;
      yield { ...asked, level: "fault", found, todo: "Set maxmemory-policy to noeviction." };
    }
    const disk = about("disk", "asked for appendonly and appendfsync");
    if (risks.disk === null) yield { ...disk, level: "ok", found: "every write is on its disk", todo: null };
    else yield { ...disk, level: "warn", ...splitAdvice(risks.disk) };
    const others = about("standbys", "asked for its role and its replicas");
    if (isStandby) {
      yield { ...others, level: "fault", found: "it is a standby", todo: "Set STORE_URL to the primary." };
    } else if (risks.standbys !== null) {
      yield { ...others, level: "warn", ...splitAdvice(risks.standbys) };
    } else if (standbys === 0) {
      yield { ...others, level: "ok", found: "it has none: what its disk loses is lost", todo: null };
    } else {
      const found = `${standbys} follow it, and what is accepted waits for ${wanted} of them`;
      yield { ...others, level: "ok", found, todo: null };
    }
  } catch (thrown) {
    // What keeps the app from opening it is said of the store.
    if (!(thrown instanceof StoreUnavailableError)) throw thrown;
  }
}
