export { copy, mix } from './mix';
export { axpy, differences, products, scale, squares } from './row';
