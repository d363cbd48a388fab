import { exchange } from './average.ts';
import { rowExchange } from './exchange.ts';
import type { Meeting } from './meeting.ts';
import type { Membership } from './membership.ts';
import type { SharedTransport } from './shared.ts';
import type { HeardReplicas } from './transport.ts';

/** Short messages between ranks, through a place for each replica in memory that the threads of a process share. */
export function hearingOver(
  { threads, replicas, messages }: SharedTransport,
  thread: number,
  meeting: Meeting,
  membership: Membership,
): HeardReplicas | undefined {
  if (messages === undefined) return undefined;
  const bytes = messages.length / replicas;
  const message = (replica: number) => messages.subarray(replica * bytes, (replica + 1) * bytes);
  return {
    heard: (mixing) =>
      rowExchange(membership.surviving(mixing), membership.division)
        .receives.map(({ replica }) => replica)
        .filter((_, k) => k % threads === thread),
    message,
    tell: (mixing, length = bytes) =>
      meeting.say(() => exchange(membership.plans.tell(membership.surviving(mixing), message, length).channel!)),
    fetch: (mixing, rows) =>
      meeting.say(() => {
        const channel = membership.plans.fetch(membership.surviving(mixing), rows)!;
        exchange(channel);
        channel.free();
      }),
  };
}
