// Registers the method of call streams with the router, which does not serve it.
import type { ConnectRouter } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { CallService } from '#gen/payweave/rpc/v1/call_pb.js'

/** Registers the method for reflection, admission, and callers who use another protocol than gRPC: they are refused. */
export function callStreamRoutes(router: ConnectRouter): void {
  router.service(CallService, {
    // oxlint-disable-next-line require-yield
    async *streamCalls() {
      throw new Failure('UNSUPPORTED_MEDIA_TYPE', 'a call stream needs gRPC and binary messages')
    },
  })
}
