/** A binary heap: the first of its items in a total order, in logarithmic time. */
export class Heap<T> {
  readonly #earlier: (a: T, b: T) => boolean;
  #items: T[] = [];

  constructor(earlier: (a: T, b: T) => boolean) {
    this.#earlier = earlier;
  }

  /** All items, in their order: it does not depend on how they came in. */
  get items(): readonly T[] {
    return this.#items.toSorted((a, b) => (this.#earlier(a, b) ? -1 : 1));
  }

  set items(items: readonly T[]) {
    this.#items = [];
    for (const item of items) this.push(item);
  }

  push(item: T): void {
    const items = this.#items;
    let at = items.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#earlier(item, items[parent]!)) break;
      items[at] = items[parent]!;
      at = parent;
    }
    items[at] = item;
  }

  /** Takes the first item out; there must be one. */
  pop(): T {
    const items = this.#items;
    const first = items[0]!;
    const moved = items.pop()!;
    const { length } = items;
    if (length === 0) return first;
    let at = 0;
    for (let child = 1; child < length; child = 2 * at + 1) {
      if (child + 1 < length && this.#earlier(items[child + 1]!, items[child]!)) child += 1;
      if (!this.#earlier(items[child]!, moved)) break;
      items[at] = items[child]!;
      at = child;
    }
    items[at] = moved;
    return first;
  }
}
