/** A list in pieces of this length, the last of which may be shorter; an empty one is one piece. */
export const chunks = <T>(list: readonly T[], length: number): T[][] =>
  Array.from({ length: Math.max(1, Math.ceil(list.length / length)) }, (_, c) =>
    list.slice(c * length, (c + 1) * length),
  );
