#!/usr/bin/env node
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, CommanderError } from 'commander';
import { LostError, suggest, UserError } from '../base/error.ts';
import { reason } from '../base/file.ts';
import { packageVersion } from '../base/version.ts';
import { endLauncher, launcherOf } from '../transport/mpi/launcher.ts';
import { commands } from './commands.ts';

/** Errors of the command line become exit code 2 here, for every command alike. */
function strict(command: Command): Command {
  command.exitOverride().configureOutput({ outputError: () => {} });
  for (const child of command.commands) strict(child);
  return command;
}

/** What an unset variable of a shell gives is no name, folder or pattern: nobody means all of them by it. */
function refuseEmpty(command: Command): void {
  const options = command.options.flatMap((option) => {
    const value: unknown = command.getOptionValue(option.attributeName());
    return [value].flat().includes('') ? [`${option.long ?? option.short}`] : [];
  });
  const words = command.registeredArguments.flatMap((argument, index) =>
    [command.processedArgs[index]].flat().includes('') ? [`<${argument.name()}>`] : [],
  );
  const [empty] = [...options, ...words];
  if (empty !== undefined) throw new UserError(`${empty} is empty`, { hint: 'give it a value, or leave it out' });
}

async function run(args: readonly string[]): Promise<void> {
  const program = new Command('dbench')
    // Options belong to the command that they follow, even if the one before has options of that name.
    .enablePositionalOptions()
    .description('Decentralized deep learning: white-box benchmark, adaptive topologies, consensus control.')
    .version(packageVersion(), '-v, --version')
    .addHelpText(
      'after',
      '\nExamples:\n  dbench compare\n  dbench run consensus-phases\n  dbench topology compare -n 96\n',
    );
  if (args[0] === 'help') return run(args.length > 1 ? [...args.slice(1), '--help'] : ['--help']);
  const [name] = args;
  for (const [key, row] of Object.entries(commands)) {
    if (key === name) program.addCommand((await (await row.load()).command()).description(row.summary));
    else program.command(key).description(row.summary);
  }
  if (name !== undefined && !name.startsWith('-') && !(name in commands))
    throw new UserError(`unknown command "${name}"`, { hint: suggest(name, Object.keys(commands)) });
  if (name === undefined) return program.outputHelp();
  program.hook('preAction', (_, command) => refuseEmpty(command));
  await strict(program).parseAsync(args, { from: 'user' });
}

// A reader that has seen enough (`dbench … | head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  console.error(`dbench: cannot write the output: ${reason(error)}`);
  process.exit(2);
});

const launcher = launcherOf(process.env);
const speaker = launcher === undefined || launcher.rank === 0 ? 'dbench' : `dbench, rank ${launcher.rank}`;

try {
  await run(process.argv.slice(2));
} catch (error) {
  // A mistake that all ranks find is told by rank 0, which ends the others before they speak.
  if (launcher !== undefined && launcher.rank > 0 && !(error instanceof LostError)) await sleep(2000);
  if (error instanceof CommanderError) {
    if (error.exitCode !== 0 && error.code !== 'commander.help')
      console.error(
        `${error.message.replace(/^error: /, `${speaker}: `)}\ntry: dbench ${process.argv[2] ?? ''} --help`,
      );
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  } else if (error instanceof UserError || error instanceof LostError) {
    // In one piece: a launcher may stop listening after the first.
    console.error(`${speaker}: ${error.message}${error.hint === undefined ? '' : `\nhint: ${error.hint}`}`);
    process.exitCode = error instanceof UserError ? 2 : 1;
  } else throw error;
  if (error instanceof LostError) endLauncher();
  // Nothing that is left to do may keep the other ranks waiting for this one.
  if (launcher !== undefined) process.exit();
}
