// Types and documents of the board's operations, from the schema that the server embeds: `npm run codegen`.
import type { CodegenConfig } from '@graphql-codegen/cli';

const config: CodegenConfig = {
  schema: '../schema.graphqls',
  documents: 'src/board/**/*.graphql',
  generates: {
    './src/board/gql/': {
      preset: 'client',
      presetConfig: { fragmentMasking: false },
      config: {
        enumsAsTypes: true,
        useTypeImports: true,
        strictScalars: true,
        scalars: { DateTime: 'string', Cursor: 'string', EventCursor: 'string', NoteCursor: 'string', ScoreCursor: 'string', IndexKey: 'unknown', Int64: 'number', JSON: 'Record<string, unknown>' },
      },
    },
  },
};

export default config;
