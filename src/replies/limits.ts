/** Slack's limits, in characters, from the Block Kit reference; ours stay below them. */
export const SECTION_TEXT_MAX = 3000;
/** Slack recommends to keep a message's `text` at or below this. */
export const MESSAGE_TEXT_MAX = 4000;

/** How much of what a person typed is shown again in the thread. */
export const ECHO_MAX = 1500;
/** How much of a state is shown, escaped: it may name the agent's step or the pull request. */
export const STATE_MAX = 800;
/** How much of what the job service said is shown. */
export const SAID_MAX = 500;
/** The longest link, escaped: it stands in a section together with our own words. */
export const LINK_MAX = 2000;
/** How much of a list of names is shown. */
export const NAMES_MAX = 2000;
/** How much of a repository, branch or model name is shown. */
export const NAME_MAX = 100;
/** A plan's or a task's title: as long as a header. Slack documents no limit. */
export const TITLE_MAX = 150;
/** The value of a menu's entry: https://docs.slack.dev/reference/block-kit/composition-objects/option-object */
export const OPTION_VALUE_MAX = 150;
