/**
 * Batches of a text: the stream is laid out in `batch` rows of equal length, and step after step takes the next `bptt` columns, so that
 * a row of one batch continues the same row of the batch before.
 */
export interface TextBatch {
  readonly batch: number;
  readonly bptt: number;
}

/** Batches in one pass over a stream of `length` tokens; what does not fill a last one is left out. */
export function textBatchCount(length: number, { batch, bptt }: TextBatch): number {
  return Math.max(0, Math.floor((Math.floor(length / batch) - 1) / bptt));
}

/** Batch `index` of a stream: x[row·bptt + t] is a token and y[row·bptt + t] the one after it. */
export function fillTextBatch(
  stream: Int32Array,
  { batch, bptt }: TextBatch,
  index: number,
  x: Int32Array,
  y: Int32Array,
): void {
  const count = textBatchCount(stream.length, { batch, bptt });
  if (!(index >= 0 && index < count)) throw new RangeError(`batch ${index} of ${count}`);
  const rowLength = Math.floor(stream.length / batch);
  for (let row = 0; row < batch; row++) {
    const from = row * rowLength + index * bptt;
    x.set(stream.subarray(from, from + bptt), row * bptt);
    y.set(stream.subarray(from + 1, from + bptt + 1), row * bptt);
  }
}
