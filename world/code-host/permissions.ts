/** Highest first. */
export const ROLES = ["admin", "maintain", "write", "triage", "read", "none"] as const;
export type Role = (typeof ROLES)[number];

/** What the rules say of people. */
type PeopleRules = {
  readonly privateRepositories: ReadonlySet<string>;
  readonly collaborators: ReadonlySet<string> | null;
  readonly roles: ReadonlyMap<string, Role>;
};

/** Returns a person's role, which is the same in every repository. */
export function roleOf(rules: PeopleRules, login: string, fullName: string): Role {
  const given = rules.roles.get(login);
  if (given !== undefined && given !== "none") return given;
  if (given === undefined && (rules.collaborators?.has(login) ?? true)) return "write";
  return rules.privateRepositories.has(fullName) ? "none" : "read";
}

/**
 * Returns the older word for a role, which `permission` has
 * (docs.github.com/rest/collaborators/collaborators).
 */
export function permissionFor(role: Role): "admin" | "write" | "read" | "none" {
  if (role === "maintain") return "write";
  return role === "triage" ? "read" : role;
}

/** Whether a role may push. */
export function mayPush(role: Role): boolean {
  return ["admin", "write"].includes(permissionFor(role));
}

/** Whether a review may be asked of a person, or of a team as `owner/team`. */
export function isCollaborator(rules: PeopleRules, name: string): boolean {
  const given = rules.roles.get(name);
  return given === undefined ? (rules.collaborators?.has(name) ?? true) : given !== "none";
}
