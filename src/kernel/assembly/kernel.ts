export { copy, mix } from './mix';
export { differences, squares } from './row';
export { accumulate, doubleCells, dropoutMask, lstmCell, lstmCellGrad, lstmOutput, rankOf } from './tensor';
