export { crossEntropy, softmax, softmaxGrad } from './loss';
export { copy, mix } from './mix';
export { gather, lookUp } from './pixels';
export { differences, meet, round, roundedDifferences, squares } from './row';
export { channelStatistics } from './statistics';
export { accumulate, doubleCells, dropoutMask, lstmCell, lstmCellGrad, lstmOutput, rankOf } from './tensor';
