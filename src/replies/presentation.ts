/** What the messages need to know of this installation, whatever the team. */
export type Presentation = {
  /** Names of the projects, the default first. */
  projects: string[];
  /** The deadline, in words. */
  watchedFor: string;
  /** Who can help when a person can't, as mrkdwn of the operator's. */
  contact: string;
  /** Origins (`http://host:port`) whose pull requests are links although they are not https. */
  httpOrigins: string[];
};

/** The team that a message is for: the app's own name there, without the `@`, and the address that its links begin with. */
export type TeamView = { botName: string; teamUrl: string };
