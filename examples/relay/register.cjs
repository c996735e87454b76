// Compiles what is imported as a bundler would: TypeScript, JSX, and graphql`…` into the artifacts of relay-compiler.

const path = require('node:path');

require('@babel/register')({
  extensions: ['.ts', '.tsx'],
  only: [path.dirname(__dirname)],
  ignore: [/node_modules/],
  cache: false,
});
