/** The roles that a person can have, highest first. */
export const ROLES = ["admin", "maintain", "write", "triage", "read", "none"] as const;
export type Role = (typeof ROLES)[number];

/** The rules about people. */
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
 * Returns the older word for a role, which the field `permission` has
 * (docs.github.com/rest/collaborators/collaborators).
 */
export function permissionFor(role: Role): "admin" | "write" | "read" | "none" {
  if (role === "maintain") return "write";
  return role === "triage" ? "read" : role;
}

/** Returns true if a role may push. */
export function mayPush(role: Role): boolean {
  return ["admin", "write"].includes(permissionFor(role));
}

/** Returns true if a person, or a team as `owner/team`, may be asked for a review. */
export function isCollaborator(rules: PeopleRules, name: string): boolean {
  const given = rules.roles.get(name);
  return given === undefined ? (rules.collaborators?.has(name) ?? true) : given !== "none";
}
