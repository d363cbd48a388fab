import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Pulse } from './pulse.ts';

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('requestAnimationFrame', (draw: () => void) => setTimeout(draw));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it('does at once what is asked first, then one work for all that is asked while it rests', async () => {
  let done = 0;
  const pulse = new Pulse(async () => void (done += 1));
  for (let i = 0; i < 5; i++) pulse.ask();
  await vi.advanceTimersByTimeAsync(100);
  expect(done).toBe(1);
  for (let i = 0; i < 5; i++) pulse.ask();
  await vi.advanceTimersByTimeAsync(1500);
  expect(done).toBe(1);
  await vi.advanceTimersByTimeAsync(1000);
  expect(done).toBe(2);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(done).toBe(2);
});

it('rests the longer the longer the work takes, but not for ever', async () => {
  let done = 0;
  const pulse = new Pulse(async () => {
    await new Promise((end) => setTimeout(end, done < 2 ? 60 : 5000));
    done += 1;
    pulse.ask();
  });
  pulse.ask();
  await vi.advanceTimersByTimeAsync(3900);
  expect(done).toBe(1);
  await vi.advanceTimersByTimeAsync(1000);
  expect(done).toBe(2);
  await vi.advanceTimersByTimeAsync(4500 + 5000 + 8500 + 5000);
  expect(done).toBe(4);
  pulse.close();
});

it('does not let a reader wait, nor forget what is asked during the work', async () => {
  let done = 0;
  const pulse = new Pulse(async () => {
    await new Promise((end) => setTimeout(end, 10));
    done += 1;
  });
  pulse.hurry();
  await vi.advanceTimersByTimeAsync(5);
  pulse.hurry();
  await vi.advanceTimersByTimeAsync(100);
  expect(done).toBe(2);
  pulse.ask();
  pulse.hurry();
  await vi.advanceTimersByTimeAsync(100);
  expect(done).toBe(3);
  pulse.ask();
  pulse.close();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(done).toBe(3);
});
