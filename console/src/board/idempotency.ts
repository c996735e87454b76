/** A new idempotency key. crypto.randomUUID is there only where the page came over https or from this machine. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
