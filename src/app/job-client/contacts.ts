import type { Clock } from "../../shared/machine/ports.ts";
import {
  type AnswerWith,
  type Contact,
  type Contacts,
  isFromServiceThatIsUp,
} from "../rules/ports/job-service.ts";
import { projectKey, type ProjectRef } from "../rules/project.ts";

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
