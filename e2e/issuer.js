// An OpenID provider on this machine (npm oidc-provider), with pages of its own on which one says who one is.

import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

const HOUR_S = 3600;

/** Whoever gives a name is somebody. */
const claims = (sub) => ({ sub, name: sub, email: `${sub.toLowerCase()}@example.com`, email_verified: true });

export const client = { id: 'taggie-pages', secret: 'secret+of/the=client%' };

/**
 * Starts an issuer without a client; setUp() tells it where the pages are. `lifetime` is how long its next tokens are valid, in seconds, and
 * `refreshes` whether it gives refresh tokens.
 */
export async function startIssuer() {
  const key = { ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }), use: 'sig', kid: 'e2e' };
  const issuer = { origin: '', lifetime: HOUR_S, refreshes: false, setUp, stop };
  let handle;
  const server = createServer((request, response) => handle(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  issuer.origin = `http://127.0.0.1:${server.address().port}`;
  setUp([]);

  /** Lets people sign in to these pages, and come back to them when they have signed out. */
  function setUp(pages) {
    const provider = new Provider(issuer.origin, {
      clients: [
        {
          client_id: client.id,
          client_secret: client.secret,
          redirect_uris: pages.length ? pages : ['http://127.0.0.1/'],
          post_logout_redirect_uris: pages,
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
        },
      ],
      jwks: { keys: [key] },
      cookies: { keys: ['e2e'] },
      claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
      conformIdTokenClaims: false, // the ID token says who somebody is, as it does elsewhere
      features: { devInteractions: { enabled: false }, rpInitiatedLogout: { logoutSource: leave } },
      interactions: { url: (_, { uid }) => `/interaction/${uid}` },
      findAccount: (_, sub) => ({ accountId: sub, claims: () => claims(sub) }),
      loadExistingGrant: (ctx) => grant(provider, ctx.oidc),
      issueRefreshToken: () => issuer.refreshes,
      ttl: { IdToken: () => issuer.lifetime, AccessToken: HOUR_S, AuthorizationCode: 60, Grant: HOUR_S, Interaction: HOUR_S, RefreshToken: HOUR_S, Session: HOUR_S },
    });
    handle = (request, response) => {
      if (request.url === '/favicon.ico') return response.writeHead(204).end();
      if (request.url.startsWith('/interaction/')) return ask(provider, request, response);
      return provider.callback()(request, response);
    };
  }

  async function stop() {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  }
  return issuer;
}

/** Nobody is asked whether they agree. */
async function grant(provider, { client, session, params }) {
  const given = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  given.addOIDCScope(params.scope);
  await given.save();
  return given;
}

/** Asks whether one wants to sign out. */
function leave(ctx, form) {
  ctx.body = `<!doctype html><html lang="en"><title>Issuer</title><h1>Sign out?</h1>${form}<button form="op.logoutForm" name="logout" value="yes" autofocus>Yes</button>`;
}

/** Asks who one is, and goes on with the answer. */
async function ask(provider, request, response) {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/html' });
    return response.end(`<!doctype html><html lang="en"><title>Issuer</title><h1>Who are you?</h1>
      <form method="post"><label>Name <input name="name" autofocus></label> <button>Sign in</button> <button name="refuse" value="yes">Refuse</button></form>`);
  }
  let body = '';
  for await (const chunk of request) body += chunk;
  const said = new URLSearchParams(body);
  const result = said.get('refuse') ? { error: 'access_denied', error_description: 'You may not use <b>this</b>.' } : { login: { accountId: said.get('name') } };
  return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}
