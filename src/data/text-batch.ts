/**
 * Batches of a text: the stream is laid out in `batch` rows of equal length, and step after step takes the next `bptt` columns, so that
 * a row of one batch continues the same row of the batch before. At batch 0 the rows begin anew: state carried along begins anew too.
 */
export interface TextBatch {
  readonly batch: number;
  readonly bptt: number;
}

/** Batches in one pass over a stream of `length` tokens; what does not fill a last one is left out. */
export function textBatchCount(length: number, { batch, bptt }: TextBatch): number {
  return Math.max(0, Math.floor((Math.floor(length / batch) - 1) / bptt));
}

/** Batch `index` of a stream, time by time: x[t·batch + row] is a token and y[t·batch + row] the one after it. */
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
  for (let t = 0; t < bptt; t++)
    for (let row = 0; row < batch; row++) {
      const from = row * rowLength + index * bptt + t;
      x[t * batch + row] = stream[from]!;
      y[t * batch + row] = stream[from + 1]!;
    }
}
