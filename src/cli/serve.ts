import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { Command, Option } from 'commander';
import { wholeNumber } from '../base/whole-number.ts';
import { commandLine } from '../live/jobs.ts';
import { serve } from '../live/server.ts';
import { runsOption } from './options.ts';

interface Options {
  readonly runs: string;
  readonly port: number;
  readonly host: string;
  readonly open?: true;
  readonly readOnly?: true;
  readonly beside?: true;
}

/** Runs come first. */
function giveWay(): void {
  try {
    setPriority(10);
  } catch {
    // Where that is not allowed it stays as it is.
  }
}

function openBrowser(address: string): void {
  const [command, ...args] =
    process.platform === 'darwin' ? ['open'] : process.platform === 'win32' ? ['cmd', '/c', 'start', ''] : ['xdg-open'];
  const child = spawn(command!, [...args, address], { detached: true, stdio: 'ignore' });
  child.on('error', () => console.error('no browser was found; open the address above'));
  child.unref();
}

/** How long a server beside a run waits for a tab after the run has ended. */
const graceMs = 30_000;

export function command(): Command {
  return new Command('serve')
    .addOption(runsOption())
    .addOption(
      new Option('--port <number>', 'where to listen; 0 takes any port that is free')
        .argParser((text) => wholeNumber('--port', text, 0, 65_535))
        .default(8642),
    )
    .addOption(
      new Option(
        '--host <address>',
        'which address to listen at; others than this machine may come if it is not its own',
      ).default('127.0.0.1'),
    )
    .option('--open', 'open the page in a browser')
    .option('--read-only', 'show runs, but start, stop and delete none')
    .addOption(new Option('--beside', 'ends when the command that started it has and no page is open').hideHelp())
    .action(async ({ runs: root, host, port, open, readOnly, beside }: Options) => {
      giveWay();
      const served = await serve({ root, host, port, readOnly: readOnly === true });
      if (beside) process.send?.(served.address);
      else console.log(served.address);
      if (host !== '127.0.0.1' && host !== 'localhost' && host !== '::1')
        console.error(
          `others can reach this server: whoever has this address can ${readOnly ? 'see these runs' : 'start runs on this machine'}, and nothing is encrypted`,
        );
      if (open) openBrowser(served.once());
      const end = () => void served.close().then(() => process.exit(0));
      process.on('SIGINT', end);
      process.on('SIGTERM', end);
      if (beside)
        process.once('disconnect', () => {
          let lastMs = Date.now();
          setInterval(() => {
            if (served.streams > 0) lastMs = Date.now();
            if (Date.now() - lastMs > graceMs) end();
          }, 1000);
        });
    });
}

/** A server of its own beside this command, which nothing that happens to it can disturb; tells its address. */
export function serveBeside(runs: string): void {
  const [program, ...first] = commandLine;
  const child = spawn(program!, [...first, 'serve', '--runs', runs, '--port', '0', '--beside'], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  child.once('message', (address) => console.error(`watch at ${address}\n`));
  child.on('error', () => {});
  child.unref();
  child.channel?.unref();
}
