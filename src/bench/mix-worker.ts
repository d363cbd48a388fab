import { workerData } from 'node:worker_threads';
import { Crew, type CrewData } from './mix-crew.ts';

const { data, member } = workerData as { data: CrewData; member: number };
new Crew(data, member).work();
