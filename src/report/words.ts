import { number } from '../base/format.ts';
import type { Correlation, Estimate, Group, VirtualReport } from './report.ts';

/** Numbers as sentences have them: with a true minus, though not before 0; accuracies in percent, differences in points. */
export const minus = (text: string) => text.replace(/^-(?=0(\.0+)?(?![.\d]))/, '').replace('-', '−');

export const list = (words: readonly string[]) =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

export const inPoints = ({ mean, half }: Pick<Estimate, 'mean' | 'half'>) =>
  minus(`${(100 * mean).toFixed(2)}${half === null ? '' : ` ± ${(100 * half).toFixed(2)}`}`);
export const percent = (value: Estimate) => `${inPoints(value)} %`;
export const points = (value: Estimate) => `${inPoints(value)} points`;

export const rho = (correlation: Correlation) =>
  correlation.rho === null
    ? 'unknown'
    : `${minus(correlation.rho.toFixed(2))} (p = ${Number(correlation.p!.toPrecision(2))})`;

/** The least and the largest share in percent. */
export function range(shares: readonly number[]): string {
  const whole = (value: number) => (100 * value).toFixed(0);
  const [least, largest] = [whole(Math.min(...shares)), whole(Math.max(...shares))];
  return least === largest ? `${least} %` : `${least} to ${largest} %`;
}

export const times = (ratio: number) =>
  `${(ratio < 1 ? 1 / ratio : ratio).toPrecision(2)} times ${ratio < 1 ? 'fewer' : 'more'}`;

/** `ring 1.4 ×, torus 1.2 ×`: how much longer a step of plain gossip takes with devices as listed, of the implementations that were placed; empty if none. */
export const placementText = ({ groups: timed }: VirtualReport, groups: readonly Group[]): string =>
  timed
    .flatMap(({ asListed }, index) => (asListed === null ? [] : [`${groups[index]!.name} ${number(asListed, 3)} ×`]))
    .join(', ');

/** Whether a group has a row on a network: one that is timed on another of them has none where it is not. */
export const hasRow = (networks: readonly VirtualReport[], { groups }: VirtualReport, index: number): boolean =>
  !groups[index]!.elsewhere || networks.every((other) => other.groups[index]!.elsewhere);
