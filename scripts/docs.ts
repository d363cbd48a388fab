import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { algorithmFormulas, algorithmTable } from './docs/algorithms.ts';
import { commandReference } from './docs/commands.ts';
import { settingsReference } from './docs/settings.ts';
import {
  studyCriteria,
  studyObservations,
  studyProgress,
  studySecond,
  studySummary,
  studyTables,
} from './docs/study.ts';
import { tableReference } from './docs/tables.ts';
import { topologyFacts, topologyTable } from './docs/topologies.ts';

const folder = new URL('../docs/', import.meta.url);

/** What is written by this script, into the pages of docs/ that ask for it by name. */
const parts: Readonly<Record<string, () => string | Promise<string>>> = {
  algorithms: algorithmTable,
  formulas: algorithmFormulas,
  settings: settingsReference,
  commands: commandReference,
  tables: tableReference,
  topologies: topologyTable,
  'topology facts': topologyFacts,
  'study progress': studyProgress,
  'study summary': studySummary,
  'study criteria': studyCriteria,
  'study second': studySecond,
  'study observations': studyObservations,
  'study tables': studyTables,
};

const marked = /<!-- begin (.+?): written by npm run docs -->\n[\s\S]*?<!-- end \1 -->/g;

async function filled(page: string): Promise<string> {
  const names = [...page.matchAll(marked)].map(([, name]) => name!);
  const texts = new Map<string, string>();
  for (const name of names) {
    if (parts[name] === undefined) throw new Error(`nothing is called "${name}" in scripts/docs.ts`);
    texts.set(name, await parts[name]());
  }
  return page.replace(
    marked,
    (_, name) => `<!-- begin ${name}: written by npm run docs -->\n\n${texts.get(name)}\n\n<!-- end ${name} -->`,
  );
}

/** The pages of docs/ as they are and as they should be. */
export async function pages(): Promise<{ path: string; now: string; due: string }[]> {
  const found = [];
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.md'))) {
    const path = fileURLToPath(new URL(name, folder));
    const now = readFileSync(path, 'utf8');
    found.push({ path, now, due: await filled(now) });
  }
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const { path, now, due } of await pages()) if (now !== due) writeFileSync(path, due);
