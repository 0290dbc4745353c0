import { makeId } from "./ids.ts";

/** An app's manifest, as JSON. */
export type AppManifest = Record<string, unknown>;

/** The apps of the workspace that were made from manifests, and their manifests. */
export class AppManifests {
  readonly #apps: Map<string, AppManifest>;

  constructor(apps: Readonly<Record<string, AppManifest>> = {}) {
    this.#apps = new Map(Object.entries(apps));
  }

  /** Returns a copy, or undefined if there is no such app. */
  find(appId: string): AppManifest | undefined {
    const manifest = this.#apps.get(appId);
    return manifest === undefined ? undefined : structuredClone(manifest);
  }

  /** Returns the new app's id. */
  create(manifest: AppManifest): string {
    const appId = makeId("A");
    this.#apps.set(appId, structuredClone(manifest));
    return appId;
  }

  replace(appId: string, manifest: AppManifest): void {
    this.#apps.set(appId, structuredClone(manifest));
  }

  /** Every app's manifest, by its id. */
  all(): ReadonlyMap<string, AppManifest> {
    return this.#apps;
  }
}
