import type { Problem } from "./types.ts";

// Failure is an answer that is an error, or the lack of one.
export class Failure extends Error {
  constructor(readonly status: number, readonly problem: Problem | undefined, message: string, readonly key = "") {
    super(message);
  }
  get code(): string { return this.problem?.code ?? ""; }
}
