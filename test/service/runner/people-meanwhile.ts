/** What a person does with a job's branch, once. Where there is none yet, they push a commit first. */
export const ACTS = [
  "pushes a commit",
  "opens another pull request into the base, and closes ours",
  "opens another pull request into v1",
  "rebases",
  "merges by merge commit",
  "merges by squash",
  "merges by rebase",
  "closes",
  "closes and reopens",
  "changes the base to v1",
  "deletes the branch",
  "force-pushes something else",
] as const;
export type Act = (typeof ACTS)[number];

export const TIMES = [
  "while the agent works",
  "right before the push",
  "between the push and the pull request",
  "after the turn",
  "while the turn waits in line",
  "between the pull request and its answer",
] as const;
export type Time = (typeof TIMES)[number];

/**
 * A first turn, or a follow-up to one. What happens after a turn is seen in the one after it, which
 * is asked for after that.
 */
export const TURNS = ["a first turn", "a follow-up"] as const;
export type Turn = (typeof TURNS)[number];

/**
 * What a person should see in the end. The turns write the pages `one`, `two` and `three`. The
 * person's pages are `theirs` and, in the base branch, `later`.
 *
 * - how the last turn ended, and the number of the pull request that the job links to
 * - the pages of the branch, and those of the base branch
 * - each pull request: its state and title, and the pages that our part of its text names. Those
 *   that the person opened are called "Theirs".
 */
type Seen = string;

/** A person's commit is on the branch before ours, and nothing else of theirs is in the way. */
const ON_THEIRS = `pull-request #1; branch one theirs; main -; #1 open "Add one" (one theirs)`;
/** Their pull request into the base is the branch's, so ours goes on with it, below their words. */
const IN_THEIRS = `pull-request #1; branch one theirs; main -; #1 open "Theirs" (one theirs)`;
const BESIDE_THEIRS =
  `pull-request #2; branch one theirs; main -; #1 open into v1 "Theirs" ()` +
  `; #2 open "Add one" (one theirs)`;
const AFTER_THEIRS =
  `pull-request #2; branch one theirs; main theirs; #1 merged "Theirs" ()` + `; #2 open "Add one" (one)`;

/** What follows if the branch was made by the person while we worked on the first turn. */
const FIRST_BEFORE_PUSH: Record<Act, Seen> = {
  "pushes a commit": ON_THEIRS,
  "opens another pull request into the base, and closes ours": IN_THEIRS,
  "opens another pull request into v1": BESIDE_THEIRS,
  rebases: `pull-request #1; branch later one theirs; main later; #1 open "Add one" (one theirs)`,
  "merges by merge commit": AFTER_THEIRS,
  "merges by squash": AFTER_THEIRS,
  "merges by rebase": AFTER_THEIRS,
  // Nobody can be asked, so nothing is opened.
  closes: `failed -; branch theirs; main -; #1 closed "Theirs" ()`,
  "closes and reopens": IN_THEIRS,
  "changes the base to v1": BESIDE_THEIRS,
  "deletes the branch": `pull-request #1; branch one; main -; #1 open "Add one" (one)`,
  "force-pushes something else": ON_THEIRS,
};

const UPDATED = `pull-request #1; branch one two; main -; #1 open "Add one; add two" (one two)`;
const NEW_AFTER_MERGE =
  `pull-request #2; branch one two; main one; #1 merged "Add one" (one)` + `; #2 open "Add two" (two)`;
const IN_ANOTHER =
  `pull-request #2; branch one two; main -; #1 closed "Add one" (one)` + `; #2 open "Theirs" (one two)`;
const BESIDE_BACKPORT = `${UPDATED}; #2 open into v1 "Theirs" ()`;
const RETARGETED = `pull-request #1; branch one two; main -; #1 open into v1 "Add one; add two" (one two)`;
const PUSHED_ONTO =
  `pull-request #1; branch one theirs two; main -` + `; #1 open "Add one; add two" (one theirs two)`;
const REBASED =
  `pull-request #1; branch later one two; main later` + `; #1 open "Add one; add two" (one two)`;
/** The person's word counts: what they put there, and what the turn adds to it. */
const ON_OTHER = `pull-request #1; branch theirs two; main -; #1 open "Add two" (theirs two)`;
const DELETED = `failed #1; branch none; main -; #1 closed "Add one" (one)`;

/** Ours is open, and nobody has told us so. */
const FIRST_UNANSWERED: Record<Act, Seen> = {
  // The text names what the turn changed, as after its end.
  "pushes a commit": `pull-request #1; branch one theirs; main -; #1 open "Add one" (one)`,
  "opens another pull request into the base, and closes ours":
    `pull-request #2; branch one; main -; #1 closed "Add one" (one)` + `; #2 open "Theirs" (one)`,
  "opens another pull request into v1": `pull-request #1; branch one; main -; #1 open "Add one" (one); #2 open into v1 "Theirs" ()`,
  rebases: `pull-request #1; branch later one; main later; #1 open "Add one" (one)`,
  "merges by merge commit": `pull-request #1; branch one; main one; #1 merged "Add one" (one)`,
  "merges by squash": `pull-request #1; branch one; main one; #1 merged "Add one" (one)`,
  "merges by rebase": `pull-request #1; branch one; main one; #1 merged "Add one" (one)`,
  closes: `pull-request #1; branch one; main -; #1 closed "Add one" (one)`,
  "closes and reopens": `pull-request #1; branch one; main -; #1 open "Add one" (one)`,
  "changes the base to v1": `pull-request #1; branch one; main -; #1 open into v1 "Add one" (one)`,
  "deletes the branch": `pull-request #1; branch none; main -; #1 closed "Add one" (one)`,
  "force-pushes something else": ON_THEIRS,
};

/** Up to the push, the turn runs again from what is there, or goes on from the base. */
const FOLLOW_UP_BEFORE_PUSH: Record<Act, Seen> = {
  "pushes a commit": PUSHED_ONTO,
  "opens another pull request into the base, and closes ours": IN_ANOTHER,
  "opens another pull request into v1": BESIDE_BACKPORT,
  rebases: REBASED,
  "merges by merge commit": NEW_AFTER_MERGE,
  "merges by squash": NEW_AFTER_MERGE,
  "merges by rebase": NEW_AFTER_MERGE,
  closes: `failed #1; branch one; main -; #1 closed "Add one" (one)`,
  "closes and reopens": UPDATED,
  "changes the base to v1": RETARGETED,
  "deletes the branch": DELETED,
  "force-pushes something else": ON_OTHER,
};

const MERGED_WITH_TURN = `pull-request #1; branch one two; main one two; #1 merged "Add one" (one)`;
const FIRST_MERGED = `pull-request #1; branch one; main one; #1 merged "Theirs" ()`;

const FOLLOW_UP_UNANSWERED: Record<Act, Seen> = {
  "pushes a commit": `pull-request #1; branch one theirs two; main -; #1 open "Add one; add two" (one two)`,
  "opens another pull request into the base, and closes ours":
    `pull-request #2; branch one two; main -; #1 closed "Add one; add two" (one two)` +
    `; #2 open "Theirs" (one two)`,
  "opens another pull request into v1": BESIDE_BACKPORT,
  rebases: REBASED,
  ...byEachMerge(`pull-request #1; branch one two; main one two; #1 merged "Add one; add two" (one two)`),
  closes: `pull-request #1; branch one two; main -; #1 closed "Add one; add two" (one two)`,
  "closes and reopens": UPDATED,
  "changes the base to v1": RETARGETED,
  "deletes the branch": `pull-request #1; branch none; main -; #1 closed "Add one; add two" (one two)`,
  // The title isn't the one that the turn before left, so it may be a person's, and stays.
  "force-pushes something else": `pull-request #1; branch theirs two; main -; #1 open "Add one; add two" (theirs two)`,
};

export const EXPECTED: Record<Turn, Record<Time, Record<Act, Seen>>> = {
  "a first turn": {
    "while the turn waits in line": FIRST_BEFORE_PUSH,
    "while the agent works": FIRST_BEFORE_PUSH,
    "right before the push": FIRST_BEFORE_PUSH,
    "between the pull request and its answer": FIRST_UNANSWERED,
    "between the push and the pull request": {
      // As after the turn's end: the text names what the turns changed.
      "pushes a commit": `pull-request #1; branch one theirs; main -; #1 open "Add one" (one)`,
      "opens another pull request into the base, and closes ours":
        `pull-request #1; branch one; main -` + `; #1 open "Theirs" (one)`,
      "opens another pull request into v1":
        `pull-request #2; branch one; main -; #1 open into v1 "Theirs" ()` + `; #2 open "Add one" (one)`,
      rebases: `pull-request #1; branch later one; main later; #1 open "Add one" (one)`,
      "merges by merge commit": FIRST_MERGED,
      "merges by squash": FIRST_MERGED,
      "merges by rebase": FIRST_MERGED,
      // It has the turn's commit, so it is the turn's, and the thread shows that it is closed.
      closes: `pull-request #1; branch one; main -; #1 closed "Theirs" ()`,
      "closes and reopens": `pull-request #1; branch one; main -; #1 open "Theirs" (one)`,
      "changes the base to v1":
        `pull-request #2; branch one; main -; #1 open into v1 "Theirs" ()` + `; #2 open "Add one" (one)`,
      // Nobody has seen a pull request of it yet, so the turn begins again.
      "deletes the branch": `pull-request #1; branch one; main -; #1 open "Add one" (one)`,
      "force-pushes something else": ON_THEIRS,
    },
    "after the turn": {
      "pushes a commit": PUSHED_ONTO,
      "opens another pull request into the base, and closes ours": IN_ANOTHER,
      "opens another pull request into v1": BESIDE_BACKPORT,
      rebases: REBASED,
      "merges by merge commit": NEW_AFTER_MERGE,
      "merges by squash": NEW_AFTER_MERGE,
      "merges by rebase": NEW_AFTER_MERGE,
      // Who asks again after that, asks for a new one.
      closes:
        `pull-request #2; branch one two; main -; #1 closed "Add one" (one)` +
        `; #2 open "Add one; add two" (one two)`,
      "closes and reopens": UPDATED,
      "changes the base to v1": RETARGETED,
      "deletes the branch":
        `pull-request #2; branch two; main -; #1 closed "Add one" (one)` + `; #2 open "Add two" (two)`,
      "force-pushes something else": ON_OTHER,
    },
  },
  "a follow-up": {
    "while the turn waits in line": FOLLOW_UP_BEFORE_PUSH,
    "while the agent works": FOLLOW_UP_BEFORE_PUSH,
    "right before the push": {
      ...FOLLOW_UP_BEFORE_PUSH,
      // It is too late to take the push back, so the branch keeps the work, and the thread says so.
      closes: `branch #1; branch one two; main -; #1 closed "Add one" (one)`,
    },
    "between the pull request and its answer": FOLLOW_UP_UNANSWERED,
    "between the push and the pull request": {
      "pushes a commit": `pull-request #1; branch one theirs two; main -; #1 open "Add one; add two" (one two)`,
      "opens another pull request into the base, and closes ours": IN_ANOTHER,
      "opens another pull request into v1": BESIDE_BACKPORT,
      rebases: REBASED,
      "merges by merge commit": MERGED_WITH_TURN,
      "merges by squash": MERGED_WITH_TURN,
      "merges by rebase": MERGED_WITH_TURN,
      closes: `pull-request #1; branch one two; main -; #1 closed "Add one" (one)`,
      "closes and reopens": UPDATED,
      "changes the base to v1": RETARGETED,
      "deletes the branch": `pull-request #1; branch none; main -; #1 closed "Add one" (one)`,
      "force-pushes something else": ON_OTHER,
    },
    "after the turn": {
      "pushes a commit":
        `pull-request #1; branch one theirs three two; main -` +
        `; #1 open "Add one; add two; add three" (one theirs three two)`,
      "opens another pull request into the base, and closes ours":
        `pull-request #2; branch one three two; main -; #1 closed "Add one; add two" (one two)` +
        `; #2 open "Theirs" (one three two)`,
      "opens another pull request into v1":
        `pull-request #1; branch one three two; main -` +
        `; #1 open "Add one; add two; add three" (one three two); #2 open into v1 "Theirs" ()`,
      rebases:
        `pull-request #1; branch later one three two; main later` +
        `; #1 open "Add one; add two; add three" (one three two)`,
      ...byEachMerge(
        `pull-request #2; branch one three two; main one two; #1 merged "Add one; add two" (one two)` +
          `; #2 open "Add three" (three)`,
      ),
      closes:
        `pull-request #2; branch one three two; main -; #1 closed "Add one; add two" (one two)` +
        `; #2 open "Add one; add two; add three" (one three two)`,
      "closes and reopens":
        `pull-request #1; branch one three two; main -` +
        `; #1 open "Add one; add two; add three" (one three two)`,
      "changes the base to v1":
        `pull-request #1; branch one three two; main -` +
        `; #1 open into v1 "Add one; add two; add three" (one three two)`,
      "deletes the branch":
        `pull-request #2; branch three; main -; #1 closed "Add one; add two" (one two)` +
        `; #2 open "Add three" (three)`,
      "force-pushes something else":
        `pull-request #1; branch theirs three; main -` + `; #1 open "Add three" (theirs three)`,
    },
  },
};

function byEachMerge(seen: Seen) {
  return { "merges by merge commit": seen, "merges by squash": seen, "merges by rebase": seen };
}
