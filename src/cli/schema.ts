import { Command } from 'commander';
import { jsonSchema } from '../experiment/schema.ts';

export function command(): Command {
  return new Command('schema').action(() => console.log(JSON.stringify(jsonSchema(), null, 2)));
}
