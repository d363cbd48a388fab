import { parentPort, workerData } from 'node:worker_threads';
import { Crew, type CrewData } from './mix-crew.ts';

const { data, member } = workerData as { data: CrewData; member: number };
const crew = new Crew(data, member);
parentPort!.postMessage('ready');
crew.work();
