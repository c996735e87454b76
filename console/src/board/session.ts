// The session that both pages share (src/session.js), with its types.
import { bearerOf, createSession, identity } from '../session.js';

export type Session = ReturnType<typeof createSession>;
export { bearerOf, createSession, identity };
