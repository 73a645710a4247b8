// Checks a caller's identity against the certificate of its connection.

import { Failure } from '#core/errors/errors.ts'
import type { ServedCall } from '../server/served-call.ts'
import type { Peer } from './tls.ts'

/**
 * Makes (does not throw) the UNAUTHENTICATED for a call whose connection has no valid certificate of its caller;
 * undefined when it may pass. A stolen token is then of no use without the key of its process.
 */
export function peerRefusal(
  { rpc, caller }: ServedCall,
  peer: Peer | undefined,
  nowMs = Date.now(),
): Failure | undefined {
  if (peer === undefined) return rpc.open ? undefined : refusal('a client certificate is needed')
  if (nowMs > peer.validUntilMs) return refusal('the client certificate has expired')
  if (!rpc.open && caller?.kind === 'service' && !peer.names.includes(caller.name)) {
    return refusal('the client certificate is that of another process')
  }
  return undefined
}

function refusal(message: string): Failure {
  return new Failure('UNAUTHENTICATED', message)
}
