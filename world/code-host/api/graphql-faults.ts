import { GraphQLError } from "graphql";

/** Makes a fault of one part of an answer, with its type as GitHub names it. */
export function fault(type: string, message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { type } });
}
