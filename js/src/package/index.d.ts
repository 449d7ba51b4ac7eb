/** A label, or a value of a column. */
export type Value = string | number | boolean;

/** What is known of a column where that is not one value: JSON that `oneOf`, `between`, `not` and `likelihood` make. */
export type Evidence =
  | { one_of: ReadonlyArray<Value | null | Evidence> }
  | { between: readonly [number | string | null, number | string | null]; inclusive?: Inclusive }
  | { not: ReadonlyArray<Value | null | Evidence> }
  | { likelihood: ReadonlyArray<readonly [Value | null, number]> | ReadonlyArray<number> };

export type Inclusive = "both" | "left" | "right" | "neither";

/** A row by the names of its columns. What it leaves out is unknown; null and NaN are missing. */
export type Row =
  | Readonly<Record<string, Value | Evidence | null | undefined>>
  | ReadonlyMap<string, Value | Evidence | null | undefined>;

export interface Column {
  readonly name: string;
  readonly kind: "numeric" | "categorical" | "boolean";
  /** The values, where the column was not discretized. */
  readonly values: ReadonlyArray<Value>;
  /** The cut points, where it was. */
  readonly cuts: ReadonlyArray<number> | null;
  /** The values or intervals as text. */
  readonly labels: ReadonlyArray<string>;
  /** Whether the values stand in an order that means something, so that a range is evidence. */
  readonly ordered: boolean;
  /** The dates that the column is a part of: a row may have them, as text, in place of their parts. */
  readonly date: { readonly column: string; readonly part: "year" | "month" | "weekday" | "hour" | "days" } | null;
}

export interface Contribution {
  readonly column: string;
  /** The value or interval as text; null for evidence that is not one value. */
  readonly value: string | null;
  /** The known columns, earlier in the list, that the contribution depends on. */
  readonly given: ReadonlyArray<string>;
  /** What the value adds to the log odds of each class. */
  readonly values: ReadonlyArray<number>;
}

export interface Explanation {
  /** The log odds of each class against the rest where nothing is known. */
  readonly base: ReadonlyArray<number>;
  /** The log odds of the row: the sum of the base and all contributions. */
  readonly logOdds: ReadonlyArray<number>;
  /** Whether the row is impossible in every class, so that it has the class shares. */
  readonly impossible: boolean;
  readonly contributions: ReadonlyArray<Contribution>;
}

export interface Information {
  /** The entropy of the class now, in nats. */
  readonly entropy: number;
  /** The unknown columns, the most useful one first: what each is expected to take from the entropy. */
  readonly columns: ReadonlyArray<{ readonly column: string; readonly gain: number; readonly share: number }>;
}

/** A classifier, or an ensemble, from a model file. */
export class Model {
  /** Read a model file, given as text or as what `JSON.parse` made of it. Throws a `ModelFileError`. */
  static fromJSON(file: string | object): Model;
  private constructor(file: string | object);
  /** The name of the class column. */
  readonly target: string;
  /** The class labels. */
  readonly classes: ReadonlyArray<Value>;
  readonly columns: ReadonlyArray<Column>;
  /** P(class | row), in the order of `classes`. */
  posterior(row: Row): number[];
  posteriors(rows: Iterable<Row>): number[][];
  /** The most probable class. */
  predict(row: Row): Value;
  /** What each known value adds to the log odds of the classes. Not for ensembles. */
  explain(row: Row): Explanation;
  /** What each unknown column is expected to tell. Not for ensembles. */
  valueOfInformation(row: Row): Information;
}

/** A file that is damaged, not a model file, or holds what this version does not know. */
export class ModelFileError extends Error {}

/** A column has one of several values, labels of intervals, or sets; null is "missing", where that is a value. */
export function oneOf(...values: ReadonlyArray<Value | null | Evidence>): Evidence;
/** The number of a column lies in a range, or its value in one of their order; null leaves an end open. */
export function between(low: number | string | null, high: number | string | null, inclusive?: Inclusive): Evidence;
/** A column has none of some values. */
export function not(...values: ReadonlyArray<Value | null | Evidence>): Evidence;
/** The probability of what was observed given each value of a column; only ratios matter. */
export function likelihood(
  values: ReadonlyMap<Value | null, number> | ReadonlyArray<readonly [Value | null, number]> | Readonly<Record<string, number>> | ReadonlyArray<number>
): Evidence;
