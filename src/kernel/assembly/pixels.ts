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
