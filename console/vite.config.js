import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { defineConfig } from 'vite';

// Leaves each file below assets/ compressed only: the server's binary is 5 MB smaller, and browsers get the bytes as they are.
function gzipAssets() {
  let assets;
  return {
    name: 'gzip-assets',
    apply: 'build',
    configResolved(config) {
      assets = path.resolve(config.root, config.build.outDir, config.build.assetsDir);
    },
    closeBundle() {
      for (const name of readdirSync(assets)) {
        const file = path.join(assets, name);
        writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
        rmSync(file);
      }
    },
  };
}

export default defineConfig({
  // Relative addresses, so that the page also works behind a proxy that adds a path.
  base: './',
  plugins: [gzipAssets()],
  worker: { format: 'es' },
  build: {
    // The content security policy of embed.go knows only files of ours.
    assetsInlineLimit: 0,
    // Monaco is one piece of several megabytes; the warning would never go away.
    chunkSizeWarningLimit: 8192,
    // The committed placeholder dist/.keep goes with the rest; public/.keep brings it back.
    emptyOutDir: true,
    rolldownOptions: {
      input: ['index.html', 'board.html', 'desk.html', 'start.html'],
      onwarn(warning, warn) {
        // Hundreds of lines of "use client" in the libraries, which mean nothing here, would hide real warnings.
        if (warning.code !== 'MODULE_LEVEL_DIRECTIVE') warn(warning);
      },
    },
  },
  server: {
    // `npm run dev` beside a running server.
    proxy: Object.fromEntries(
      ['/graphql', '/session'].map((path) => [path, { target: process.env.TAGGIE_URL ?? 'http://127.0.0.1:8080', ws: true }]),
    ),
  },
});
