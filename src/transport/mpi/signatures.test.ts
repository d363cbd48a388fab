import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { mpich, openMpi } from './abi.ts';
import { signatures } from './signatures.ts';

/** Headers where Debian puts them; those that are one file include the prototypes. */
const headers = {
  'Open MPI': ['/usr/lib/x86_64-linux-gnu/openmpi/include/mpi.h', '/usr/lib/aarch64-linux-gnu/openmpi/include/mpi.h'],
  MPICH: ['/usr/include/x86_64-linux-gnu/mpich/mpi.h', '/usr/include/aarch64-linux-gnu/mpich/mpi.h'],
};
const packages = { 'Open MPI': 'libopenmpi-dev', MPICH: 'libmpich-dev' };

function textOf(paths: readonly string[]): string | undefined {
  const path = paths.find((each) => existsSync(each));
  if (path === undefined) return undefined;
  const prototypes = path.replace('mpi.h', 'mpi_proto.h');
  return readFileSync(path, 'utf8') + (existsSync(prototypes) ? readFileSync(prototypes, 'utf8') : '');
}

/** The letter of a C parameter, as signatures.ts has them. */
function letterOf(parameter: string): string {
  if (/\*|\[/.test(parameter)) return 'p';
  const type = parameter.trim().split(/\s+/)[0]!;
  if (type === 'int') return 'i';
  if (/^MPI_(Comm|Group|Datatype|Op|Request|Errhandler|Info)$/.test(type)) return 'h';
  throw new Error(`a parameter of unknown kind: ${parameter}`);
}

function signatureIn(header: string, name: string): string {
  const found = new RegExp(`\\bint\\s+${name}\\s*\\(([^)]*)\\)`).exec(header);
  if (found === null) throw new Error(`${name} is not declared`);
  const parameters = found[1]!.split(',').map((each) => each.trim());
  return parameters[0] === 'void' || parameters[0] === '' ? '' : parameters.map(letterOf).join('');
}

const define = (header: string, name: string) =>
  new RegExp(`#define\\s+${name}\\s+([^/\\n]*)`).exec(header)?.[1]?.replace(/\s+/g, ' ').trim();

for (const [library, paths] of Object.entries(headers) as [keyof typeof headers, string[]][]) {
  const header = textOf(paths);
  const reason = ` (needs ${packages[library]})`;
  it.skipIf(header === undefined)(
    `functions are called as ${library} declares them${header === undefined ? reason : ''}`,
    () => {
      const declared = Object.fromEntries(
        Object.keys(signatures).map((name) => [name, signatureIn(header!, name)] as const),
      );
      expect(declared).toEqual(signatures);
    },
  );
}

const mpichHeader = textOf(headers.MPICH);
it.skipIf(mpichHeader === undefined)(
  `constants are those of MPICH${mpichHeader === undefined ? ' (needs libmpich-dev)' : ''}`,
  () => {
    const value = (name: string) => Number(/0x[0-9a-f]+|-?\d+/i.exec(define(mpichHeader!, name) ?? '')![0]);
    const names = {
      commWorld: 'MPI_COMM_WORLD',
      float: 'MPI_FLOAT',
      double: 'MPI_DOUBLE',
      byte: 'MPI_BYTE',
      errorsReturn: 'MPI_ERRORS_RETURN',
    } as const;
    for (const [field, name] of Object.entries(names)) expect(mpich[field as keyof typeof names]).toBe(value(name));
    expect(BigInt.asIntN(64, mpich.inPlace)).toBe(BigInt(value('MPI_IN_PLACE')));
    expect(mpich.statusIgnore).toBe(BigInt(value('MPI_STATUS_IGNORE')));
    expect(mpich.statusesIgnore).toBe(BigInt(value('MPI_STATUSES_IGNORE')));
    expect(mpich.threads[3]).toBe(value('MPI_THREAD_MULTIPLE'));
  },
);

const openHeader = textOf(headers['Open MPI']);
it.skipIf(openHeader === undefined)(
  `constants are those of Open MPI${openHeader === undefined ? ' (needs libopenmpi-dev)' : ''}`,
  () => {
    const abi = openMpi((symbol) => symbol as unknown as bigint);
    const symbol = (name: string) => /,\s*(\w+)\)/.exec(define(openHeader!, name) ?? '')?.[1];
    expect([abi.commWorld, abi.float, abi.double, abi.byte, abi.errorsReturn]).toEqual(
      ['MPI_COMM_WORLD', 'MPI_FLOAT', 'MPI_DOUBLE', 'MPI_BYTE', 'MPI_ERRORS_RETURN'].map(symbol),
    );
    expect(define(openHeader!, 'MPI_IN_PLACE')).toContain(`${abi.inPlace}`);
    expect(define(openHeader!, 'MPI_STATUSES_IGNORE')).toContain(`${abi.statusesIgnore}`);
  },
);
