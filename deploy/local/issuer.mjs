// An OpenID provider with one user, ada@example.com, for local.sh: `PASSWORD=… node issuer.mjs`. A terminal asks for a token by her password,
// as from Dex in compose.yaml. Its signing keys are known to everybody: it is for trying things on one machine.
import Provider, { errors } from 'oidc-provider';

const ada = { sub: 'ada', name: 'Ada', email: 'ada@example.com', email_verified: true };

const provider = new Provider('http://127.0.0.1:5556', {
  clients: [{ client_id: 'taggie', token_endpoint_auth_method: 'none', grant_types: ['password'], redirect_uris: [], response_types: [] }],
  claims: { openid: ['sub', 'name', 'email', 'email_verified'] },
  findAccount: (_, sub) => (sub === ada.sub ? { accountId: sub, claims: () => ada } : undefined),
});

provider.registerGrantType('password', async (ctx) => {
  const { params } = ctx.oidc;
  if (params.username !== ada.email || params.password !== process.env.PASSWORD) throw new errors.InvalidGrant('wrong name or password');
  const token = new provider.IdToken(ada, { ctx });
  token.scope = 'openid';
  ctx.body = { id_token: await token.issue({ use: 'idtoken' }), token_type: 'Bearer' };
}, ['username', 'password', 'scope']);
provider.on('server_error', (_, error) => console.error(error));

provider.listen(5556, '127.0.0.1');
