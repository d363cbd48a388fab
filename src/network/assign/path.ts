/** Up to so many stops the cheapest path is found; above, a good one. */
export const mostExactStops = 13;

export interface Path {
  readonly cost: number;
  readonly stops: readonly number[];
}

/** The cheapest way through all stops, starting and ending anywhere; `cost` is symmetric, row by row. */
export const cheapestPath = (cost: Float64Array, stops: number): Path =>
  stops <= mostExactStops ? heldKarp(cost, stops) : twoOpt(cost, stops);

/** Held & Karp, 1962: the cheapest way through a set of stops that ends at one of them, set by set. */
function heldKarp(cost: Float64Array, stops: number): Path {
  const sets = 1 << stops;
  const least = new Float64Array(sets * stops).fill(Number.POSITIVE_INFINITY);
  for (let v = 0; v < stops; v++) least[(1 << v) * stops + v] = 0;
  for (let set = 1; set < sets; set++)
    for (let last = 0; last < stops; last++) {
      const here = least[set * stops + last]!;
      if (here === Number.POSITIVE_INFINITY) continue;
      for (let next = 0; next < stops; next++) {
        if (set & (1 << next)) continue;
        const at = (set | (1 << next)) * stops + next;
        const there = here + cost[last * stops + next]!;
        if (there < least[at]!) least[at] = there;
      }
    }
  let set = sets - 1;
  let last = 0;
  for (let v = 1; v < stops; v++) if (least[set * stops + v]! < least[set * stops + last]!) last = v;
  const total = least[set * stops + last]!;
  const order = [last];
  while (order.length < stops) {
    const rest = set ^ (1 << last);
    let before = -1;
    for (let v = 0; v < stops; v++)
      if (rest & (1 << v) && least[rest * stops + v]! + cost[v * stops + last]! === least[set * stops + last])
        before = v;
    order.push(before);
    [set, last] = [rest, before];
  }
  return { cost: total, stops: order };
}

/** From the nearest unvisited stop to the next, then parts turned round as long as that is cheaper. */
function twoOpt(cost: Float64Array, stops: number): Path {
  const between = (a: number | undefined, b: number | undefined) =>
    a === undefined || b === undefined ? 0 : cost[a * stops + b]!;
  const order = [0];
  while (order.length < stops) {
    const last = order.at(-1)!;
    let next = -1;
    for (let v = 0; v < stops; v++)
      if (!order.includes(v) && (next < 0 || between(last, v) < between(last, next))) next = v;
    order.push(next);
  }
  for (let better = true; better; ) {
    better = false;
    for (let i = 0; i < stops - 1; i++)
      for (let j = i + 1; j < stops; j++) {
        const [a, b, c, d] = [order[i - 1], order[i]!, order[j]!, order[j + 1]];
        const gain = between(a, b) + between(c, d) - between(a, c) - between(b, d);
        if (gain <= 1e-12 * (between(a, b) + between(c, d))) continue;
        order.splice(i, j - i + 1, ...order.slice(i, j + 1).reverse());
        better = true;
      }
  }
  return { cost: order.reduce((sum, v, i) => sum + between(order[i - 1], v), 0), stops: order };
}
