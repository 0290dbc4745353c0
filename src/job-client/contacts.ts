import type { Clock } from "../core/ports/clock.ts";
import { isFromServiceThatIsUp } from "../core/ports/job-service.ts";
import type { AnswerWith, Contact, Contacts } from "../core/ports/job-service.ts";
import { projectKey } from "../core/job/project.ts";
import type { ProjectRef } from "../core/job/project.ts";

/**
 * Remembers whether each project's job service last answered. It covers this process only, and
 * makes no calls of its own.
 */
export function createContacts(
  clock: Pick<Clock, "now">,
): Contacts & { noting(project: ProjectRef): (answer: AnswerWith<object>) => void } {
  const contacts = new Map<string, Contact>();
  return {
    last: () => [...contacts.values()],

    noting(project) {
      const key = projectKey(project);
      return (answer) => {
        const at = clock.now();
        const isUp = isFromServiceThatIsUp(answer);
        const known = contacts.get(key);
        contacts.set(key, { project, isUp, since: known?.isUp === isUp ? known.since : at, at });
      };
    },
  };
}
