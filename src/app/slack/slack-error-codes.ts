/**
 * Slack's error codes, sorted by what they mean for us. Each list names the pages it is taken from,
 * all under https://docs.slack.dev/reference/methods/. A code in none of the lists is temporary:
 * Slack uses codes that no page lists, and most of them pass.
 */

function codes(list: string): ReadonlySet<string> {
  return new Set(list.trim().split(/\s+/));
}

/** chat.postMessage, chat.postEphemeral: direct messages don't accept a message from us. */
const DIRECT_REFUSES = codes(`
  channel_not_found not_in_channel is_archived restricted_action
  restricted_action_read_only_channel
`);

/**
 * The same for a channel. `no_permission` is added: Slack may permit nothing for a moment, but a
 * direct message is still possible.
 */
const CHANNEL_REFUSES = new Set([...DIRECT_REFUSES, "no_permission"]);

/**
 * chat.postMessage, chat.postEphemeral: this thread accepts no reply, or this channel accepts only
 * replies. Three are documented elsewhere, for a missing thread: `thread_not_found`
 * (conversations.replies), `message_not_found` (chat.update) and `invalid_thread_ts`
 * (assistant.threads.setStatus).
 */
const THREAD_REFUSES = codes(`
  cannot_reply_to_message restricted_action_non_threadable_channel
  restricted_action_thread_locked restricted_action_thread_only_channel thread_not_found
  message_not_found invalid_thread_ts
`);

/**
 * agents.sessions.setStatus: the app isn't declared as an agent in its settings, or the workspace
 * doesn't offer sessions. The method's page lists no codes of its own;
 * github.com/kirodotdev/KiroCrew (issue 9822) saw `not_authorized`.
 */
export const NOT_AN_AGENT = codes(`
  not_authorized access_denied deprecated_endpoint feature_disabled feature_not_enabled
  method_deprecated not_allowed unknown_method
`);

/** The codes that are final, by purpose. Repeating the call later doesn't help. */
export const FINAL = {
  post: new Set([...CHANNEL_REFUSES, ...THREAD_REFUSES]),
  /** There is no other place to tell the person. */
  "post-directly": new Set([...DIRECT_REFUSES, ...THREAD_REFUSES]),
  /**
   * chat.update, chat.delete: this message can't be changed anymore. `is_inactive` means that the
   * channel is frozen, archived or deleted.
   */
  update: new Set([
    ...CHANNEL_REFUSES,
    ...codes("message_not_found cant_update_message cant_delete_message edit_window_closed is_inactive"),
  ]),
  /** conversations.history, conversations.replies: the app can't read there. */
  find: codes(`
    channel_not_found not_in_channel no_permission channel_is_limited_access
    method_not_supported_for_channel_type
  `),
  /**
   * files.info: this file isn't for the app. `file_not_found` is left out, because a file that was
   * just shared may be found a moment later.
   */
  "look-up-file": codes("access_denied file_deleted"),
  /** chat.postEphemeral: as for posts, and the person has to be there. */
  "reply-privately": new Set([...CHANNEL_REFUSES, ...THREAD_REFUSES, "user_not_in_channel"]),
  /**
   * conversations.open: this person has no direct messages with us. No page lists `cannot_dm_bot`,
   * which the method answers for apps.
   */
  "direct-message": codes(`
    user_not_found user_disabled user_not_visible cannot_dm_bot invalid_user_combination
    channel_not_found method_not_supported_for_channel_type
  `),
  /**
   * views.publish: the Home tab isn't enabled in the app's settings, or the view is refused for
   * good.
   */
  "publish-home": codes("not_enabled not_implemented view_too_large invalid_arguments"),
  /** reactions.add, reactions.remove: this message accepts no reaction from us. */
  react: codes(`
    bad_timestamp channel_not_found external_channel_migrating invalid_name is_archived
    message_not_found no_access no_item_specified not_in_channel not_reactable thread_locked
    too_many_emoji too_many_reactions
  `),
  /**
   * assistant.threads.setStatus: the feature isn't available here. `invalid_thread_ts` is left out
   * because it concerns one thread.
   */
  "show-work": codes(`
    access_denied channel_not_found deprecated_endpoint feature_not_enabled
    method_deprecated no_permission not_allowed unknown_method
  `),
  /**
   * agents.sessions.setStatus: this thread has no session. The channel or thread is missing, or the
   * session doesn't take the status.
   */
  "set-session": new Set([
    ...NOT_AN_AGENT,
    ...DIRECT_REFUSES,
    ...codes("thread_not_found message_not_found invalid_thread_ts invalid_arguments"),
  ]),
  other: new Set<string>(),
} satisfies Record<string, ReadonlySet<string>>;

/** The purpose of a call. The same code can be final for one purpose and not for another. */
export type CallPurpose = keyof typeof FINAL;

/**
 * On every method's page: the token isn't accepted or lacks a scope. `messages_tab_disabled`
 * (chat.postMessage): the app's settings forbid direct messages.
 */
export const CREDENTIALS = codes(`
    not_authed invalid_auth account_inactive token_revoked token_expired missing_scope
    not_allowed_token_type enterprise_is_restricted two_factor_setup_required
    messages_tab_disabled
  `);

/**
 * On every method's page, the last one on those that post: Slack did nothing, and may do it another
 * time.
 */
export const NOT_DONE = codes(`
    ratelimited rate_limited message_limit_exceeded accesslimited service_unavailable
    team_added_to_org org_login_required no_permission
  `);

/** chat.postMessage, chat.update: the message's content is refused before anything is done. */
export const CONTENT_REFUSED = codes(`
    invalid_arguments invalid_attachments invalid_blocks invalid_blocks_format
    invalid_metadata_format invalid_metadata_schema metadata_too_large msg_blocks_too_long
    msg_too_long no_text
  `);
