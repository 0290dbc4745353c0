export type JobServiceOp = "create" | "get" | "message";

/** What goes wrong with a call. "before": the call has no effect. "after": it has its effect, but the caller is not told. */
export type SideFault =
  | { kind: "status"; status: number; headers?: Record<string, string>; body?: unknown }
  | { kind: "drop-before" }
  | { kind: "drop-after" }
  | { kind: "hang-before" }
  | { kind: "hang-after" }
  | { kind: "body"; status: number; body: string; contentType?: string }
  | { kind: "body-after"; status: number; body: string; contentType?: string }
  | { kind: "slow"; ms: number };

export type FaultRule = {
  op: JobServiceOp | "*";
  /** Absent: until cleared. */ times?: number;
  fault: SideFault;
};

/** Faults on demand. The rule added first applies first; a used-up rule is gone. */
export class FaultPlan {
  #rules: { op: JobServiceOp | "*"; left: number; fault: SideFault }[] = [];

  add({ op, times = Number.POSITIVE_INFINITY, fault }: FaultRule): void {
    this.#rules.push({ op, left: times, fault });
  }

  clear(): void {
    this.#rules = [];
  }

  /** The fault this call meets, which uses it up once; null for none. */
  take(op: JobServiceOp): SideFault | null {
    const rule = this.#rules.find((candidate) => candidate.op === "*" || candidate.op === op);
    if (rule === undefined) return null;
    rule.left -= 1;
    this.#rules = this.#rules.filter((candidate) => candidate.left > 0);
    return rule.fault;
  }
}
