export { runsCommand as command } from './run.ts';
