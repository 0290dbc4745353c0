import type { Clock } from "../../shared/machine/ports.ts";
import type { Store } from "../../shared/store/store.ts";
import { forgettingInJob, threadWithout } from "../rules/forgotten/forget-job.ts";
import { forgottenWrite } from "../rules/forgotten/forgotten.ts";
import { goesWhole, withoutPerson } from "../rules/forgotten/without-person.ts";
import type { AppQueue, AppRecords, Read, Write } from "../rules/records.ts";
import type { Turn } from "../rules/turn/turn.ts";
import { findPerson, type LeftOfPerson, type StoredOfPerson } from "./find-person.ts";
import { type Side, StateError } from "./transfer.ts";

/** A store that a person is forgotten in, also while replicas use it. */
export type ForgettingStore = {
  source: Pick<Side, "entries" | "name">;
  queue: Pick<AppQueue, "commit">;
  store: Pick<Store<AppRecords>, "series" | "rateLimiter" | "setAside">;
  clock: Clock;
};

/** Each pass finds what came up during the pass before. */
const PASSES_MAX = 10;
const ID_IN_SLACK = /^[UW][A-Z0-9]{2,40}$/;

/**
 * Removes a person's words, names and files. `tell` hears what stays elsewhere before anything of
 * it goes, since nobody knows it afterwards. Whatever ends it on its way, a repetition does the
 * rest: what shows that something is theirs goes last. Rejects with a {@link StateError} if nothing
 * is stored, or if a turn of theirs waits or runs.
 */
export async function forgetInStore(
  place: ForgettingStore,
  userId: string,
  tell: (left: LeftOfPerson) => Promise<void>,
): Promise<void> {
  if (!ID_IN_SLACK.test(userId)) {
    throw new StateError(
      "That isn't a person's id in Slack. Open their profile in Slack, choose Copy member ID, and " +
        "run this with it.",
    );
  }
  for (let pass = 1; pass <= PASSES_MAX; pass += 1) {
    const found = await findPerson(place.source, userId);
    if (found.open !== undefined) throw busy(userId, found.open);
    await place.store.rateLimiter.forget(userId);
    if (isNothing(found)) {
      if (pass > 1) return;
      throw new StateError(`Nothing is stored of ${userId} in ${place.source.name}.`);
    }
    await tell(found.left);
    await remove(place, userId, found);
  }
  throw new StateError(
    `${userId} goes on using Docs Agent, so more was stored meanwhile. Run this again once they don't.`,
  );
}

function isNothing({
  jobs,
  named,
  threads,
  asked,
  goes,
  notices,
  taskIds,
  series,
  setAside,
}: StoredOfPerson): boolean {
  return [jobs, named, threads, asked, goes, notices, taskIds, series, setAside].every(
    ({ length }) => length === 0,
  );
}

async function remove(place: ForgettingStore, userId: string, found: StoredOfPerson): Promise<void> {
  const { queue, store, clock } = place;
  const { goneIds } = found;
  const change = (decide: (read: Read) => Write[]) =>
    queue.commit((read) => ({ writes: decide(read), value: undefined }));

  for (const id of found.named) {
    await change((read) => {
      const turn = read("turn", id);
      const record = turn === undefined ? null : withoutPerson(turn, userId, goneIds);
      return [{ kind: "turn", id, record, keepsEnd: true }];
    });
  }
  for (const id of found.asked) {
    await change((read) => {
      const record = askedWithout(read("asked", id), goneIds);
      return [{ kind: "asked", id, record, keepsEnd: true }];
    });
  }
  for (const { kind, id } of found.goes) {
    // Slack may send the message again that its author was asked about.
    await change((read) => {
      // Another record may stand there by now.
      if (!goesWhole((of) => read(of, id), kind, id, userId)) return [];
      return [{ kind, id, record: null }, ...(kind === "reply" ? [forgottenWrite(id)] : [])];
    });
  }
  for (const id of found.notices) await change(() => [{ kind: "notice", id, record: null }]);
  for (const job of found.jobs) {
    const open = await queue.commit((read) => forgettingInJob(read, userId, job, clock.now()));
    if (open !== undefined) throw busy(userId, open);
  }
  for (const id of found.threads) await change((read) => threadWrites(read, userId, id));
  for (const id of found.taskIds) await queue.commit(() => ({ removes: [id], value: undefined }));
  for (const name of found.series) await store.series.remove(name);
  for (const key of found.setAside) await store.setAside.delete(key);
  // With standbys of Redis, it waits until they have what came before it.
  await queue.commit(() => ({ value: undefined }));
}

function askedWithout(
  asked: AppRecords["asked"] | undefined,
  goneIds: ReadonlySet<string>,
): AppRecords["asked"] | null {
  if (asked === undefined) return null;
  const [turnId, ...earlier] = [asked.turnId, ...(asked.earlier ?? [])].filter((id) => !goneIds.has(id));
  return turnId === undefined ? null : { ...asked, turnId, earlier };
}

function threadWrites(read: Read, userId: string, id: string): Write[] {
  const thread = read("thread", id);
  const record = thread === undefined ? null : threadWithout(thread, userId, new Set());
  return [{ kind: "thread", id, record, keepsEnd: true }];
}

function busy(userId: string, { id, request, delivery }: Turn): StateError {
  const { channelId, threadTs } = delivery;
  const where =
    threadTs === null ? `channel ${channelId}` : `/archives/${channelId}/p${threadTs.replace(".", "")}`;
  return new StateError(
    `A turn of ${userId}, or one in a job with their words, waits or runs: ${id} of ${request.userId}, ` +
      `in ${where}. Wait for its end or press Stop in its thread, and run this again.`,
  );
}
