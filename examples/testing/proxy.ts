// A network that fails: everything goes through it to a server, until it is cut.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { origin } from './server.ts';

/** Opens a proxy in front of the server, or of something else. */
export async function openProxy(to = origin) {
  const { hostname, port } = new URL(to);
  const sockets = new Set<Socket>();
  const outgoings = new Set<Socket>();
  let up = true;

  const server = createServer((incoming) => {
    if (!up) return void incoming.destroy();
    const outgoing = connect(Number(port), hostname);
    outgoings.add(outgoing);
    outgoing.on('close', () => outgoings.delete(outgoing));
    for (const [socket, other] of [[incoming, outgoing], [outgoing, incoming]] as const) {
      sockets.add(socket);
      socket.on('error', () => {}); // its end follows
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  const cut = () => {
    const { size } = sockets;
    for (const socket of sockets) socket.destroy();
    return size > 0;
  };
  return {
    /** The address to use in place of the server's. */
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Breaks all connections without a word, and says whether there were any. New ones can be made. */
    cut,
    /** Lets nothing through on the connections that there are, and does not tell: as a phone that has left its network. */
    freeze() {
      for (const socket of sockets) socket.unpipe().pause();
    },
    /** Lets everything through to the server and no answer back, on the connections that there are: what is sent now is done, and its sender does not know. */
    mute() {
      for (const socket of outgoings) socket.unpipe().pause();
    },
    /** Breaks all connections, and each that is tried until up(). */
    down() {
      up = false;
      cut();
    },
    up() {
      up = true;
    },
    close() {
      server.close();
      cut();
    },
  };
}
