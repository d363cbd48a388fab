import { loadLibrary } from './library.ts';

/** A program of its own, for `dbench doctor`: prints the library that would be used as JSON. */
try {
  const { version, path, abi } = await loadLibrary();
  console.log(JSON.stringify({ version, path, abi: abi.name }));
} catch (error) {
  console.log(JSON.stringify({ error: (error as Error).message }));
}
