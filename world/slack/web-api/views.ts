import type { webApi } from "@slack/bolt";
import * as z from "zod";
import { SlackRefusal } from "../refusal.ts";
import type { Answer } from "../sdk-types.ts";
import { parseHome, parseView } from "../validate-blocks.ts";
import { type Args, readArgs } from "./args.ts";
import type { MethodContext, MethodTable } from "./method.ts";

const OpenArgs = z.object({ trigger_id: z.string().min(1), view: z.unknown().optional() });

const PublishArgs = z.object({
  user_id: z.string().min(1),
  view: z.unknown().optional(),
  hash: z.string().optional(),
});

const UpdateArgs = z.object({
  view: z.unknown().optional(),
  view_id: z.string().optional(),
  external_id: z.string().optional(),
  hash: z.string().optional(),
});

/** The methods of https://docs.slack.dev/reference/methods?family=views that this project calls. */
export const viewsMethods: MethodTable = {
  "views.open": { token: "bot", scopes: [], run: open },
  "views.publish": { token: "bot", scopes: [], run: publish },
  "views.update": { token: "bot", scopes: [], run: update },
};

function open(args: Args, { views, triggers }: MethodContext) {
  const request = readArgs(OpenArgs, args);
  const view = parseView(request.view);
  const opened = views.open(triggers.exchange(request.trigger_id), view);
  return { view: views.toWire(opened) } satisfies Answer<webApi.ViewsOpenResponse>;
}

/** https://docs.slack.dev/reference/methods/views.publish */
function publish(args: Args, { views, workspace }: MethodContext) {
  const request = readArgs(PublishArgs, args);
  if (!views.isHomeEnabled) throw new SlackRefusal("not_enabled");
  if (workspace.findUser(request.user_id) === undefined) throw new SlackRefusal("user_not_found");
  const before = views.homeOf(request.user_id);
  if (request.hash !== undefined && request.hash !== before?.hash) throw new SlackRefusal("hash_conflict");
  const home = views.publish(request.user_id, parseHome(request.view));
  return { view: views.homeToWire(home) } satisfies Answer<webApi.ViewsPublishResponse>;
}

function update(args: Args, { views }: MethodContext) {
  const request = readArgs(UpdateArgs, args);
  const view = parseView(request.view);
  const open =
    request.view_id === undefined
      ? views.findByExternalId(request.external_id ?? "")
      : views.find(request.view_id);
  if (open === undefined) throw new SlackRefusal("not_found");
  if (request.hash !== undefined && request.hash !== open.hash) throw new SlackRefusal("hash_conflict");
  views.update(open, view);
  return { view: views.toWire(open) } satisfies Answer<webApi.ViewsUpdateResponse>;
}
