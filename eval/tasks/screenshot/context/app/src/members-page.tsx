import { Button, Toolbar } from "./ui";
import { t } from "./locales";

export function MembersToolbar({ role, onInvite }: { role: "owner" | "planner" | "member"; onInvite: () => void }) {
  return <Toolbar>{role === "owner" && <Button onPress={onInvite}>{t("members.invite")}</Button>}</Toolbar>;
}
