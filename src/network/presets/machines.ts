import type { Preset } from '../preset.ts';

export const summit: Preset = {
  name: 'summit',
  summary: 'a supercomputer: 168 machines of 6 GPUs, NVLink inside',
  source: 'olcf-user-docs; latencies of nccl tuning.cc; efficiency from the logs of the DBench paper',
  network: {
    kind: 'hosts',
    devices: 6,
    machines: 168,
    inner: { latency: '3.4us', rate: '50GB/s' },
    outer: { latency: '9.6us', rate: '23GB/s' },
    efficiency: 0.7,
  },
};

export const v100: Preset = {
  name: 'v100',
  summary: '126 machines of 8 V100, one NVLink per pair',
  source: 'NVLink: NVIDIA; the port of a machine is recalled',
  network: {
    kind: 'hosts',
    devices: 8,
    machines: 126,
    inner: { latency: '3.4us', rate: '25GB/s' },
    outer: { latency: '9.6us', rate: '50GB/s' },
  },
};

export const a100: Preset = {
  name: 'a100',
  aliases: ['nvlink'],
  summary: 'GPUs of one machine, 300 GB/s NVLink, of which 195 were measured',
  source: 'li-plus/playground; latency of nccl tuning.cc',
  network: { kind: 'uniform', latency: '3.4us', rate: '300GB/s', efficiency: 0.65 },
};

export const h100: Preset = {
  name: 'h100',
  summary: 'GPUs of one machine, 450 GB/s NVLink, of which 380 were measured',
  source: 'nccl #1264; latency of nccl tuning.cc',
  network: { kind: 'uniform', latency: '3.4us', rate: '450GB/s', efficiency: 0.844 },
};
