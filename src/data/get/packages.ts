import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SourceError } from './download.ts';

/** Runs a program in a folder and returns what it prints; a SourceError says why it did not work. */
function run(program: string, args: readonly string[], folder: string, signal?: AbortSignal): Promise<string> {
  const shell = process.platform === 'win32';
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd: folder, signal, shell, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      if (signal?.aborted === true) return reject(signal.reason);
      if ((error as NodeJS.ErrnoException).code === 'ENOENT')
        return reject(new SourceError(`there is no ${program} here`));
      const lines = stderr.split('\n').filter((line) => /^(npm error|E:|dpkg)/.test(line));
      reject(new SourceError(lines[0]?.replace(/^(npm error|E:)\s*/, '') ?? `${program} failed`));
    });
  });
}

/** The tarball of an npm package, from whatever registry the user's npm is set up with. */
export async function npmTarball(name: string, version: string, folder: string, signal?: AbortSignal): Promise<string> {
  const before = new Set(readdirSync(folder));
  await run('npm', ['pack', `${name}@${version}`, '--silent'], folder, signal);
  const tarball = readdirSync(folder).find((file) => !before.has(file) && file.endsWith('.tgz'));
  if (tarball === undefined) throw new SourceError(`npm pack ${name}@${version} made no tarball`);
  return join(folder, tarball);
}

/** The files of a Debian package, unpacked below a folder; nothing is installed. */
export async function debianFiles(name: string, folder: string, signal?: AbortSignal): Promise<string> {
  const installed = join('/', 'usr', 'share', 'doc', name);
  if (existsSync(installed)) return '/';
  await run('apt-get', ['download', '-qq', name], folder, signal);
  const archive = readdirSync(folder).find((file) => file.startsWith(`${name}_`) && file.endsWith('.deb'));
  if (archive === undefined) throw new SourceError(`apt-get download ${name} left no package`);
  const root = join(folder, 'root');
  mkdirSync(root);
  await run('dpkg', ['-x', archive, root], folder, signal);
  return root;
}

/** Copies those of `names` that a folder holds, plain or compressed. */
export function copyFound(from: string, names: readonly string[], to: string): void {
  for (const name of names)
    for (const file of [name, `${name}.gz`])
      if (existsSync(join(from, file))) copyFileSync(join(from, file), join(to, file));
}
