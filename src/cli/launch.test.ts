import { describe, expect, it } from 'vitest';
import { launchedArguments, lostRank } from './launch.ts';

it('ranks get the command without what is for the launching process', () => {
  const args = ['run', 'a.yaml', '--launch', 'mpirun -n 4', '--set', 'epochs=2', '--retries=3', '--workers', '2'];
  expect(launchedArguments(args)).toEqual(['run', 'a.yaml', '--set', 'epochs=2', '--workers', '2']);
});

describe('a lost rank is named', () => {
  it('as Open MPI names it', () => {
    const told = 'mpirun noticed that process rank 1 with PID 0 on node b exited on signal 9 (Killed).\n';
    expect(lostRank(told)).toBe('rank 1 on b ended on signal 9 (Killed)');
  });

  it('from the process that MPICH names', () => {
    const told = [
      '4 ranks over MPICH 4.0.2',
      'ranks 0–1 on a, processes 11 12',
      'ranks 2–3 on b, processes 11 14',
      '=   PID 14 RUNNING AT b',
      '=   EXIT CODE: 9',
    ].join('\n');
    expect(lostRank(told)).toBe('rank 3 on b (process 14) ended with code 9');
    expect(lostRank(told.replace('PID 14', 'PID 11'))).toBe('rank 2 on b (process 11) ended with code 9');
  });

  it('or not, where nothing was said', () => {
    expect(lostRank('all is well')).toBeUndefined();
  });
});
