// Immediate answers, to one person alone, after a button or form.

export const QUESTION_CLOSED = "The agent stopped waiting.";
export const ANSWER_FORM_NOT_OPENED = "I couldn't open the form. Press the button again.";
export const FORM_EXPIRED = "This form has expired. Copy your text and open it again.";
export const NOTHING_TYPED = "Say what should change.";
export const NOTHING_SHARED = "Share a message, or say what should change.";
export const NO_ANSWER = "Type an answer.";
export const ANSWERED_ALREADY = "Somebody already answered that.";
export const NOT_YOURS = "Only the person who asked for this can do that.";
export const ANSWER_FORM_NOT_KEPT = "I can't tell whether that was saved. Send it again.";
export const ASKED_BEFORE = "You already asked for that here. Send it as a message to ask again.";
export const THANKS = "Thanks for the feedback.";
export const FOLLOWING = "I'll mention you in the result.";
export const FOLLOWING_NEWS = "I'll mention you when there's news of it.";
export const MERGED_MEANWHILE = "It was merged meanwhile.";
export const CLOSED_MEANWHILE = "It was closed meanwhile.";
export const ADDED = "Sent to the agent. I'll reply in the thread of that pull request.";
export const STARTED_AFTER_MERGE = "It was merged meanwhile, so I started a new request.";
export const STARTED_AFTER_CLOSE = "It was closed meanwhile, so I started a new request.";
export const STARTED_ANEW = "Nothing can be added to it anymore, so I started a new request.";
export const MUTED = "I won't mention you in this thread.";
export const FOLLOWED_ELSEWHERE = "The result goes to a direct message, so I can't mention you in it.";
export const TOO_MANY_FOLLOWERS = "Too many people follow this already.";
export const ALREADY_WATCHING = "I'm already watching.";
export const ON_ITS_WAY = "There's news about this request. I'll post it here in a moment.";
/** This is also true if the store's answer was lost. Pressing twice is safe. */
export const PRESS_NOT_KEPT =
  "I can't tell whether that was saved. If nothing happens within a minute, press the button again.";
/** The button's turn has ended. */
export const FINISHED = "The agent has already finished. See the last message of this request.";
export const NOT_OPEN = "The pull request isn't open anymore.";
export const NOT_VISIBLE = "The job service can't see that pull request at the moment. Try again later.";
export const NO_CONFLICTS = "The pull request has no conflicts anymore.";
export const CHECKS_PASSED = "The checks pass now.";
export const ROUNDS_ARE_OVER =
  "The agent has answered three rounds of reviews and checks. Now a person has to decide.";
export const REPLY_NOT_KEPT = "I no longer have that message. Send it again.";
