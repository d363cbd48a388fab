import type { Messages } from './messages.ts';
import type { Journeys } from './post.ts';
import type { Watcher } from './timetable.ts';

/** What was sent over links, as lists with a place for each link that was used. */
export interface LinkUsage {
  readonly source: readonly number[];
  readonly replica: readonly number[];
  readonly bytes: readonly number[];
  readonly messages: readonly number[];
  /** Messages that were lost on their way, and those that came when their receiver had gone on. */
  readonly lost: readonly number[];
  readonly late: readonly number[];
  /** How long a port was busy with what was sent. */
  readonly busyNs: readonly number[];
}

/** More links than these are not told apart. */
export const mostLinks = 65_536;

/** Counts what is sent over each link. */
export class LinkCounter implements Watcher {
  readonly #n: number;
  /** Links by source · n + replica: their place in the lists. */
  #places = new Map<number, number>();
  #bytes: number[] = [];
  #messages: number[] = [];
  #lost: number[] = [];
  #late: number[] = [];
  #busyNs: number[] = [];
  /** By the messages of a gossip, which are often the same again: their places. */
  #known = new WeakMap<Messages, Int32Array>();

  constructor(n: number) {
    this.#n = n;
  }

  exchange(messages: Messages, { start, left, heard, lost, sent }: Journeys): void {
    const places = this.#known.get(messages) ?? this.#placesOf(messages);
    this.#known.set(messages, places);
    if (this.#places.size > mostLinks) return;
    const { bytes } = messages;
    for (let m = 0; m < places.length; m++) {
      const place = places[m]!;
      this.#add(place, sent[m]! * bytes, sent[m]!, left[m]! - start[m]!);
      this.#lost[place]! += lost[m]!;
      if (heard[m] === 0 && lost[m] === 0) this.#late[place]! += 1;
    }
  }

  /** A single message. */
  message(from: number, to: number, bytes: number, busyNs: number): void {
    if (this.#places.size <= mostLinks) this.#add(this.#place(from, to), bytes, 1, busyNs);
  }

  /** A mean counts as one around a ring: all ways to make it send as much. Numbers are told to those 1, 2, 4, … places on. */
  mean(start: number, end: number, bytes: number, numbers: boolean): void {
    const n = this.#n;
    if (numbers) {
      for (let step = 1; step < n; step *= 2)
        for (let i = 0; i < n; i++) this.#add(this.#place(i, (i + step) % n), bytes, 1, end - start);
      return;
    }
    const share = (2 * (n - 1) * bytes) / n;
    for (let i = 0; i < n && n > 1; i++) this.#add(this.#place(i, (i + 1) % n), share, 2 * (n - 1), end - start);
  }

  /** What was counted since the last time, by source and then by replica; undefined if it is nothing, or of too many links. */
  take(): LinkUsage | undefined {
    const sorted = [...this.#places].sort(([a], [b]) => a - b);
    const [bytes, messages, lost, late, busyNs] = [this.#bytes, this.#messages, this.#lost, this.#late, this.#busyNs];
    [this.#bytes, this.#messages, this.#lost, this.#late, this.#busyNs] = [[], [], [], [], []];
    this.#places = new Map();
    this.#known = new WeakMap();
    if (sorted.length === 0 || sorted.length > mostLinks) return undefined;
    const column = (values: readonly number[]) => sorted.map(([, place]) => values[place]!);
    return {
      source: sorted.map(([link]) => Math.floor(link / this.#n)),
      replica: sorted.map(([link]) => link % this.#n),
      bytes: column(bytes),
      messages: column(messages),
      lost: column(lost),
      late: column(late),
      busyNs: column(busyNs),
    };
  }

  #placesOf({ from, to }: Messages): Int32Array {
    const places = new Int32Array(from.length);
    for (let m = 0; m < from.length && this.#places.size <= mostLinks; m++) places[m] = this.#place(from[m]!, to[m]!);
    return places;
  }

  #place(from: number, to: number): number {
    const link = from * this.#n + to;
    const place = this.#places.get(link) ?? this.#places.size;
    if (place === this.#places.size) {
      this.#places.set(link, place);
      this.#bytes.push(0);
      this.#messages.push(0);
      this.#lost.push(0);
      this.#late.push(0);
      this.#busyNs.push(0);
    }
    return place;
  }

  #add(place: number, bytes: number, messages: number, busyNs: number): void {
    this.#bytes[place]! += bytes;
    this.#messages[place]! += messages;
    this.#busyNs[place]! += busyNs;
  }
}
