import type { Annotation, CommitCheck, CommitStatus } from "../commit-records.ts";
import { connection, type Page } from "./graphql-connection.ts";

/**
 * See `CheckRun` in docs.github.com/graphql/reference/objects. `web` is the address of the
 * repository's pages.
 */
export function checkRunNode(run: CommitCheck, web: string): object {
  const url = `${web}/runs/${run.id}`;
  return {
    __typename: "CheckRun",
    id: `CR_${run.id}`,
    databaseId: run.id,
    name: run.name,
    status: run.status.toUpperCase(),
    conclusion: run.conclusion?.toUpperCase() ?? null,
    title: run.title,
    summary: run.summary,
    text: run.text,
    detailsUrl: run.detailsUrl ?? url,
    url,
    permalink: url,
    startedAt: run.startedAt,
    completedAt: run.completedAt,
    annotations: (page: Page) =>
      connection(
        run.annotations.map((annotation) => annotationNode(annotation, `${web}/blob/${run.headSha}`)),
        page,
      ),
  };
}

/** See `CheckAnnotation` there. */
function annotationNode(annotation: Annotation, blobs: string): object {
  return {
    path: annotation.path,
    blobUrl: `${blobs}/${annotation.path.split("/").map(encodeURIComponent).join("/")}`,
    location: { start: { line: annotation.startLine }, end: { line: annotation.endLine } },
    annotationLevel: annotation.level.toUpperCase(),
    message: annotation.message,
    title: annotation.title,
    rawDetails: annotation.rawDetails,
  };
}

/** See `StatusContext` there. */
export function statusContextNode(status: CommitStatus): object {
  return {
    __typename: "StatusContext",
    id: `SC_${status.id}`,
    context: status.context,
    state: status.state.toUpperCase(),
    description: status.description,
    targetUrl: status.targetUrl,
    createdAt: status.createdAt,
  };
}
