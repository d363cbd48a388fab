export { compareCommand as command } from './run.ts';
