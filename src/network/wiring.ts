import type { z } from 'zod';
import { UserError } from '../base/error.ts';

/** The way of a message from one device to another: latency, the rate of the path, and the ports that it leaves and enters by. */
export interface Way {
  readonly latencyNs: number;
  /** Bytes per second; ∞ if only the ports limit it. */
  readonly rate: number;
  readonly up: number;
  readonly down: number;
}

/** The cables between n devices. A port carries what its devices send (up) or hear (down); several devices may share one. */
export interface Wiring {
  /** Bytes per second of each port. */
  readonly upRates: Float64Array;
  readonly downRates: Float64Array;
  way(from: number, to: number): Way;
  /** The machine that a device is in, if several share one. */
  readonly machines?: Int32Array;
  /** What devices are called, if they have names. */
  readonly names?: readonly string[];
}

/** A kind of network: one file and one row in kinds.ts. */
export interface WiringKind<Shape extends z.ZodRawShape = z.ZodRawShape> {
  readonly name: string;
  readonly summary: string;
  readonly settings: Shape;
  build(n: number, settings: z.output<z.ZodObject<Shape>>): Wiring;
}

/** Infers the settings' types from their schema. */
export function wiringKind<Shape extends z.ZodRawShape>(definition: WiringKind<Shape>): WiringKind<Shape> {
  return definition;
}

/** Every device has a port of its own, with these rates. */
export function ownPorts(n: number, up: number, down: number): Pick<Wiring, 'upRates' | 'downRates'> {
  return { upRates: new Float64Array(n).fill(up), downRates: new Float64Array(n).fill(down) };
}

/** Places 0 … places−1 in blocks of devices that are as equal as possible: the place of each device. */
export function inBlocks(n: number, places: number): Int32Array {
  return Int32Array.from({ length: n }, (_, i) => Math.floor((i * places) / n));
}

export function refuseSize(kind: string, described: number, n: number): never {
  throw new UserError(`the ${kind} network describes ${described} devices, but there are ${n} replicas`, {
    hint: `use ${described} replicas or another network`,
  });
}
