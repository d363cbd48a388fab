import nodeModule from 'node:module';
import { UserError } from '../base/error.ts';

/** What a module means by "dbench": this package, wherever the module lies. */
const api = new URL(`./api.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url).href;

/**
 * The text of a module as JavaScript that stands for itself. It may import this package and parts of Node: what it imported besides
 * would decide a run without being part of its SHA-256, and is not found, because the text has no place in a folder.
 */
export async function javaScript(text: string, typescript: boolean): Promise<string> {
  const code = typescript ? await withoutTypes(text) : text;
  return code.replaceAll(/\b(from|import)(\s*)(["'])dbench\3/g, `$1$2$3${api}$3`);
}

/** Types become spaces, so lines stay where they are. Node 20 needs a package for it, the same that newer ones carry within. */
async function withoutTypes(text: string): Promise<string> {
  const { stripTypeScriptTypes } = nodeModule as { stripTypeScriptTypes?: (text: string) => string };
  try {
    if (stripTypeScriptTypes !== undefined) return stripTypeScriptTypes(text);
    const { transformSync } = await import('@swc/wasm-typescript');
    return transformSync(text, { mode: 'strip-only', module: true }).code;
  } catch (cause) {
    // The package throws plain objects.
    const { message, startLine } = cause as { readonly message: string; readonly startLine?: number };
    throw new UserError(
      `its TypeScript cannot be read: ${message.split('\n')[0]}${startLine ? ` (line ${startLine})` : ''}`,
      { cause },
    );
  }
}
