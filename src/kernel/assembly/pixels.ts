/** out[i] = table[bytes[i]], four at a time: what is behind the last byte is looked up as well. */
export function lookUp(out: usize, bytes: usize, table: usize, count: usize): void {
  const end = bytes + count;
  while (bytes < end) {
    let four = v128.load32_zero(table + (<usize>load<u8>(bytes) << 2));
    four = v128.load_lane<u32>(table + (<usize>load<u8>(bytes, 1) << 2), four, 1);
    four = v128.load_lane<u32>(table + (<usize>load<u8>(bytes, 2) << 2), four, 2);
    four = v128.load_lane<u32>(table + (<usize>load<u8>(bytes, 3) << 2), four, 3);
    v128.store(out, four);
    bytes += 4;
    out += 16;
  }
}

/**
 * Copies stretches of `size` bytes from the addresses in `places` to one after the other. They are touched first, a line at a time: many are then on their way
 * from memory at once, while copies wait for each.
 */
export function gather(out: usize, places: usize, count: usize, size: usize): u32 {
  const end = places + (count << 2);
  let touched: u32 = 0;
  for (let place = places; place < end; place += 4) {
    const from = <usize>load<u32>(place);
    for (let at: usize = 0; at < size; at += 64) touched += <u32>load<u8>(from + at);
  }
  for (let place = places; place < end; place += 4) {
    memory.copy(out, <usize>load<u32>(place), size);
    out += size;
  }
  return touched;
}
