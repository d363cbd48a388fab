import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { UserError } from '../base/error.ts';
import { packageVersion } from '../base/version.ts';
import { html } from '../report/markup.ts';
import { style } from '../report/style.ts';
import { liveStyle } from './style.ts';

interface File {
  readonly type: string;
  readonly content: string;
}

/** Made by the build; from sources and from the package it is in the same place. */
const bundle = new URL('../../dist/live/page.js', import.meta.url);

function program(): string {
  if (!existsSync(bundle))
    throw new UserError(`the program of the live page is missing: ${fileURLToPath(bundle)}`, {
      hint: 'run: npm run build',
    });
  return readFileSync(bundle, 'utf8');
}

const shell = () =>
  html`<!doctype html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="DBench ${packageVersion()}">
<title>DBench</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
<script src="/page.js" defer></script>
</head>
<body>
<div class="top"><div><strong>DBench</strong><nav aria-label="Views"></nav><span id="now"></span><span id="link" role="status"></span><button type="button" id="theme">Dark</button></div></div>
<main id="view"><noscript>This page needs a browser that runs scripts.</noscript></main>
<dialog id="question"></dialog>
</body>
</html>
`.text;

/** All that is served besides answers: nothing is looked for on the disk by its name. */
let known: ReadonlyMap<string, File> | undefined;
export function files(): ReadonlyMap<string, File> {
  known ??= new Map([
    ['/', { type: 'text/html; charset=utf-8', content: shell() }],
    ['/page.js', { type: 'text/javascript; charset=utf-8', content: program() }],
    ['/page.css', { type: 'text/css; charset=utf-8', content: style + liveStyle }],
  ]);
  return known;
}
