/** Something that is timed against a yardstick in the same run: one file here and one row in cli/bench.ts. */
export interface Bench<Options> {
  readonly options: readonly BenchOption[];
  run(options: Options): BenchResult | Promise<BenchResult>;
}

export interface BenchOption {
  /** As commander writes them: `-n, --n <replicas>`. */
  readonly flags: string;
  readonly description: string;
  readonly default: number;
  readonly least: number;
  readonly most: number;
}

export interface BenchResult {
  /** What `--json` prints. */
  readonly data: object;
  readonly title: string;
  readonly headers: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly note: string;
}
