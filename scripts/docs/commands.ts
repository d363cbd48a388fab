import { Command } from 'commander';
import { commands } from '../../src/cli/commands.ts';

/** Commands whose subcommands are described elsewhere. */
const folded = ['topology'];

function helpOf(path: string, command: Command): string[] {
  command.configureHelp({ helpWidth: 110 });
  const parts = folded.includes(command.name()) ? [] : command.commands;
  const hashes = path.includes(' ') ? '###' : '##';
  return [
    `${hashes} dbench ${path}`,
    `\`\`\`\n${command.helpInformation().trimEnd()}\n\`\`\``,
    ...parts.flatMap((part) => helpOf(`${path} ${part.name()}`, part)),
  ];
}

/** The help of every command. */
export async function commandReference(): Promise<string> {
  const program = new Command('dbench');
  const texts: string[] = [];
  for (const [name, { summary, load }] of Object.entries(commands)) {
    const command = (await (await load()).command()).description(summary);
    program.addCommand(command);
    texts.push(...helpOf(name, command));
  }
  return texts.join('\n\n');
}
