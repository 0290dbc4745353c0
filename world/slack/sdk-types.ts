import type {
  BlockAction,
  EnvelopedEvent,
  MessageShortcut,
  SlashCommand,
  types,
  ViewClosedAction,
  ViewOutput,
  ViewSubmitAction,
  webApi,
} from "@slack/bolt";

/** A type of Slack's SDK without its index signature, which would allow any other field. */
type Known<Type> = {
  [Key in keyof Type as string extends Key ? never : number extends Key ? never : Key]: Type[Key];
};

/**
 * `Type` with some fields of the stand-in, which are checked elsewhere or more strictly than in the
 * SDK.
 */
type With<Type, Fields> = Omit<Known<Type>, keyof Fields> & Fields;

/** The answer of a Web API method without `ok`. The objects in it have types of their own. */
export type Answer<Response> = {
  [Key in keyof Known<Response> as Key extends "ok" ? never : Key]: Key extends "message" | "view"
    ? object
    : Key extends "messages"
      ? object[]
      : Response[Key];
};

type Blocks = { blocks?: object[]; files?: object[]; attachments?: object[] };

/** A message as history shows it and as payloads carry it. */
export type WireMessage = With<
  NonNullable<webApi.ConversationsHistoryResponse["messages"]>[number],
  Blocks & { type: "message"; ts: string; user: string; text: string }
>;
/** A message in the answer of `chat.update`. */
export type UpdatedMessage = With<NonNullable<webApi.ChatUpdateResponse["message"]>, Blocks>;
export type WireChannel = Known<NonNullable<webApi.ConversationsInfoResponse["channel"]>>;
export type WireDirectMessage = Known<NonNullable<webApi.ConversationsOpenResponse["channel"]>>;
export type WireUser = Known<NonNullable<webApi.UsersInfoResponse["user"]>>;
export type WireView = With<
  ViewOutput,
  { blocks: object[]; state: { values: Record<string, Record<string, unknown>> } }
>;

/** A Home tab has neither a title nor buttons of its own. */
export type WireHome = Omit<WireView, "title" | "close" | "submit"> & { type: "home" };

/** Slack sends null where the SDK's types expect the field to be absent. */
type Enterprise = { enterprise: null };

export type CommandPayload = Known<SlashCommand>;
export type ShortcutPayload = With<MessageShortcut, Enterprise & { message: WireMessage }>;
/** The SDK's type has a `response_url`, but presses in a modal carry none. */
export type ActionPayload = With<
  BlockAction,
  Enterprise & { message?: WireMessage; view?: WireView | WireHome; response_url?: string; actions: object[] }
>;
export type SubmissionPayload = With<ViewSubmitAction, Enterprise & { view: WireView }>;
export type ClosePayload = With<ViewClosedAction, Enterprise & { view: WireView }>;
/** Slack's samples have `event_context` and `client_msg_id`, which the SDK's types leave out. */
export type MentionPayload = With<
  EnvelopedEvent,
  {
    event: With<
      types.AppMentionEvent,
      Blocks & { client_msg_id: string; edited?: types.GenericMessageEvent["edited"] }
    >;
    event_context: string;
  }
>;
export type HomeOpenedPayload = With<
  EnvelopedEvent,
  { event: Known<types.AppHomeOpenedEvent>; event_context: string }
>;
export type SessionStoppedPayload = With<
  EnvelopedEvent,
  { event: Known<types.AgentSessionStoppedEvent>; event_context: string }
>;
export type MessagePayload = With<
  EnvelopedEvent,
  {
    event: With<
      Omit<types.GenericMessageEvent, "subtype">,
      Blocks & { client_msg_id: string; subtype?: types.FileShareMessageEvent["subtype"] }
    >;
    event_context: string;
  }
>;
export type ChangePayload = With<
  EnvelopedEvent,
  {
    event: With<types.MessageChangedEvent, { message: WireMessage; previous_message: WireMessage }>;
    event_context: string;
  }
>;
