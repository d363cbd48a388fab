/** What the package is for a module that an experiment names; the package's own index has the same, and more. */
export { z } from 'zod';
export { method } from '../algorithm/method.ts';
export { topology } from '../topology/own.ts';
