import type { webApi } from "@slack/bolt";
import * as z from "zod";
import { SlackRefusal } from "../refusal.ts";
import type { Answer } from "../sdk-types.ts";
import { type Args, readArgs } from "./args.ts";
import type { MethodContext, MethodTable } from "./method.ts";
import { userToWire } from "./wire.ts";

const UserArgs = z.object({ user: z.string().min(1) });

/** Who one is, who others are, and the Socket Mode connection. */
export const teamMethods: MethodTable = {
  "auth.test": { token: "bot", scopes: [], run: authTest },
  "users.info": { token: "bot", scopes: ["users:read"], run: usersInfo },
  "apps.connections.open": { token: "app", scopes: [], run: openConnection },
};

function authTest(_args: Args, { workspace: { team, bot } }: MethodContext) {
  return {
    url: team.url,
    team: team.name,
    user: bot.name,
    team_id: team.id,
    user_id: bot.userId,
    bot_id: bot.botId,
    is_enterprise_install: false,
    ...(team.enterpriseId !== undefined && { enterprise_id: team.enterpriseId }),
  } satisfies Answer<webApi.AuthTestResponse>;
}

function usersInfo(args: Args, { workspace }: MethodContext) {
  const { user: id } = readArgs(UserArgs, args);
  const { bot } = workspace;
  if (id === bot.userId) {
    const account = { id, name: bot.name, real_name: bot.name, display_name: bot.name };
    return {
      user: { ...userToWire(account, workspace), is_bot: true },
    } satisfies Answer<webApi.UsersInfoResponse>;
  }
  const user = workspace.findUser(id);
  if (user === undefined) throw new SlackRefusal("user_not_found");
  return { user: userToWire(user, workspace) } satisfies Answer<webApi.UsersInfoResponse>;
}

function openConnection(_args: Args, { socketMode }: MethodContext) {
  return { url: socketMode.issueUrl() } satisfies Answer<webApi.AppsConnectionsOpenResponse>;
}
