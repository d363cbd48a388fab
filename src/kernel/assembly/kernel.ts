export { copy, mix } from './mix';
export { axpy, differences, products, scale, squares } from './row';
export { accumulate, doubleCells, dropoutMask, lstmCell, lstmCellGrad, lstmOutput, rankOf } from './tensor';
