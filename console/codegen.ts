// Types and documents of the operations of each page, from the schema that the server embeds: `npm run codegen`.
import type { CodegenConfig } from '@graphql-codegen/cli';

/** What a page asks; documents of its own keep its files small. */
const page = (name: string) => ({
  [`./src/${name}/gql/`]: {
    documents: `src/${name}/**/*.graphql`,
    preset: 'client' as const,
    presetConfig: { fragmentMasking: false },
    config: {
      enumsAsTypes: true,
      useTypeImports: true,
      strictScalars: true,
      scalars: { DateTime: 'string', Cursor: 'string', EventCursor: 'string', NoteCursor: 'string', ScoreCursor: 'string', IndexKey: 'unknown', Int64: 'number', JSON: 'Record<string, unknown>' },
    },
  },
});

const config: CodegenConfig = { schema: '../schema.graphqls', generates: { ...page('board'), ...page('desk') } };

export default config;
