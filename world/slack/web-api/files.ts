import type { webApi } from "@slack/bolt";
import * as z from "zod";
import { fileToWire, unreadyToWire } from "../files.ts";
import { SlackRefusal } from "../refusal.ts";
import type { Answer } from "../sdk-types.ts";
import { type Args, readArgs } from "./args.ts";
import { channelToPostTo, type MethodContext, type MethodTable } from "./method.ts";

const UploadArgs = z.object({ filename: z.string().min(1), length: z.coerce.number().int().min(1) });
const InfoArgs = z.object({ file: z.string().min(1) });
const CompleteArgs = z.object({
  files: z.array(z.object({ id: z.string(), title: z.string().optional() })).min(1),
  channel_id: z.string().optional(),
  initial_comment: z.string().optional(),
});

/**
 * The methods of https://docs.slack.dev/reference/methods?family=files that this project calls.
 * Between them, the file is sent to `upload/v1/<ticket>`.
 */
export const filesMethods: MethodTable = {
  "files.info": { token: "bot", scopes: ["files:read"], run: info },
  "files.getUploadURLExternal": { token: "bot", scopes: ["files:write"], run: getUploadUrl },
  "files.completeUploadExternal": { token: "bot", scopes: ["files:write"], run: completeUpload },
};

function info(args: Args, { workspace, limits }: MethodContext) {
  const { file: id } = readArgs(InfoArgs, args);
  const file = workspace.findFile(id);
  if (file === undefined) throw new SlackRefusal("file_not_found");
  const isReady = limits.slackNow() >= workspace.fileSettings.readyAtMs;
  return {
    file: isReady ? fileToWire(file, workspace.filesUrl) : unreadyToWire(file),
  } satisfies Answer<webApi.FilesInfoResponse>;
}

function getUploadUrl(args: Args, { workspace }: MethodContext) {
  const { filename, length } = readArgs(UploadArgs, args);
  const { id } = workspace.uploads.begin(filename, length);
  return {
    upload_url: `${workspace.filesUrl}upload/v1/${id}`,
    file_id: id,
  } satisfies Answer<webApi.FilesGetUploadURLExternalResponse>;
}

function completeUpload(args: Args, context: MethodContext) {
  const { workspace } = context;
  const request = readArgs(CompleteArgs, args);
  // This comes before anything is shared, because a ticket can be used only once.
  const channel = request.channel_id === undefined ? undefined : sharedTo(request.channel_id, context);
  const files = request.files.map(({ id }) => {
    const file = workspace.uploads.take(id);
    if (file === undefined) throw new SlackRefusal("file_not_found");
    return file;
  });
  if (channel !== undefined) {
    workspace.post({
      channel,
      user: workspace.bot.userId,
      text: request.initial_comment ?? "",
      isFromApp: true,
      files,
    });
  }
  return {
    files: files.map(({ id, name }) => ({ id, title: name })),
  } satisfies Answer<webApi.FilesCompleteUploadExternalResponse>;
}

function sharedTo(id: string, context: MethodContext): string {
  // Unlike chat.postMessage, this method takes no person's id.
  if (!/^[CDG]/.test(id)) throw new SlackRefusal("invalid_channel");
  return channelToPostTo(id, context).id;
}
