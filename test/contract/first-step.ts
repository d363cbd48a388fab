/**
 * ‖mean − x*‖ and Ξ of the rows of methods.ts after their first step, from the same separately written programs. Most have moved along the mean
 * gradient alone: each by itself, or averaged once.
 */
const mean = 0.216967385;
const unmixed = [mean, 0.057957908] as const;
const mixed = [mean, 0.026002829] as const;

export const firstStep: Readonly<Record<string, readonly [off: number, spread: number]>> = {
  centralized: [mean, 0],
  'dispfl 4': [0.224323856, 0.0368369485],
  'dpsgd atc': mixed,
  'ntk-dfl 1 or 8': [0.103034011, 0.208022632],
  'dpsgd cta': unmixed,
  'dpsgd awc': unmixed,
  'atc momentum .9': mixed,
  'atc nesterov .9': [0.202311509, 0.049405375],
  'decentlam .9': mixed,
  'qg-dsgdm': mixed,
  'qg-dsgdm-n': [0.202311509, 0.049405375],
  'gut .9': unmixed,
  'qg-gutm .9 .06': unmixed,
  'd-adam': [0.206839512, 0.131204563],
  'adam atc (corrected)': [0.228287933, 0.04650341],
  'cd-adam top2': [0.206839512, 0.387761123],
  'dadam .9': [0.220364355, 0.436168846],
  damsgrad: [0.228287933, 0.139534268],
  sgp: [0.217415406, 0.028602714],
  // No gradient yet.
  'qps identity': [0.233252808, 0],
  'choco top2 .4': [mean, 0.048279257],
  'choco sign .4': [mean, 0.039772243],
  'choco mix-first top2 .4': unmixed,
  d2: mixed,
  'exact diffusion': [mean, 0.032313802],
  dsgt: mixed,
  diging: unmixed,
  extra: unmixed,
  'momentum tracking .9': unmixed,
  'mt, exact start': [mean, 0],
  'relay model': [0.227295322, 0.009967371],
  'gossip-pga 4': mixed,
  'local sgd 4': unmixed,
  'slowmo 4 .5': unmixed,
  'diloco 4': unmixed,
  'noloco 4': unmixed,
  'dsgd-ac p3': unmixed,
  'adagossip top2': [0.215870653, 0.05177095],
  'beer top2 .4': unmixed,
  'lead qsgd16': [mean, 0.032182237],
  'dfedavgm 4 .9': unmixed,
  'dfedsam 4 .9 .05': [0.215926616, 0.061616055],
};
