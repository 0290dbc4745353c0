import type { ActionsBlock, KnownBlock } from "@slack/types";
import { counted } from "../../shared/text/text.ts";
import type { MessageOf } from "../rules/ports/notifier.ts";
import { ACTIONS, homeProjectValue, refreshValue } from "./actions.ts";
import {
  actions,
  context,
  entry,
  labeled,
  plainSection,
  type Rendered,
  section,
  unstyled,
  type View,
} from "./blocks.ts";
import { listRow, openRow, PARTIAL } from "./list-message.ts";
import { dateAndTime } from "./mrkdwn.ts";
import { refusalMessage } from "./refusal-message.ts";

/** A person's Home tab: their requests, the team's, open pull requests and their settings. */
export function homeView({ page }: MessageOf<"home">, view: View): Rendered {
  if ("refusal" in page) return refusalMessage(page.refusal, view);
  if ("notice" in page) return { text: page.notice, blocks: [plainSection(page.notice), ...refresh()] };
  const { own, team, open, moreOpen, isPartial, looked, now } = page;
  const more = moreOpen === 0 ? [] : [context([`And ${counted(moreOpen, "newer one")}.`])];
  return {
    text: "Docs Agent",
    blocks: [
      section(`As of ${dateAndTime(now)}`),
      ...refresh(),
      ...part(
        "Your requests",
        "You have no recent requests. Type `/docs-agent` to make one.",
        own.map((listed) => listRow(listed, view, { of: "person", now })),
      ),
      ...part(
        "Requests of others in your channels",
        "No recent requests of others.",
        team.map((listed) => listRow(listed, view, { of: "channel", now })),
      ),
      ...part("Open pull requests, oldest first", "I don't know of any open pull requests.", [
        ...open.map((listed) => openRow(listed, view, now)),
        ...more,
      ]),
      ...(isPartial ? [context([PARTIAL])] : []),
      ...(looked === null ? [] : [context([lookedText(looked)])]),
      ...settings(page.project, view),
    ],
  };
}

function refresh(): KnownBlock[] {
  return actions([labeled(ACTIONS.refreshHome, "Refresh", refreshValue.write({}))]);
}

function lookedText({ channels, entries }: { channels: number; entries: number }): string {
  return (
    `I looked through ${counted(channels, "channel")} of yours and the newest ${entries} pull requests of ` +
    "each, so some may be missing."
  );
}

function part(title: string, empty: string, rows: KnownBlock[]): KnownBlock[] {
  return [section(`*${title}*`), ...(rows.length === 0 ? [section(empty)] : rows)];
}

/** The project that the person chose last. There is nothing to choose if there is only one. */
function settings(project: string | null, { projects, asksForProject }: View): KnownBlock[] {
  if (projects.length < 2) return [];
  const none = entry(asksForProject ? "Ask me" : "The first one", homeProjectValue.write({ project: null }));
  const options = [none, ...projects.map((name) => entry(name, homeProjectValue.write({ project: name })))];
  const chosen = projects.indexOf(project ?? "") + 1;
  const menu: ActionsBlock = {
    type: "actions",
    elements: [
      {
        type: "static_select",
        action_id: ACTIONS.homeProject,
        placeholder: unstyled("Your project"),
        // Slack takes 100 options.
        options: options.slice(0, 100),
        ...(options[chosen] === undefined || chosen >= 100 ? {} : { initial_option: options[chosen] }),
      },
    ],
  };
  return [
    section("*Your project*\nFor requests that name none, in channels without a project of their own."),
    menu,
  ];
}
