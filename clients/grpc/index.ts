// The public exports of @payweave/client; messages and enums come from @payweave/client/gen/….
export type { ChannelSettings, TlsOptions } from './channel.ts'
export { type FieldViolation, PayweaveError, Status, type StatusName } from './error.ts'
export {
  createPayweaveClient,
  type Part,
  type PayweaveClient,
  type PayweaveClientOptions,
} from './payweave.ts'
export type { RetryPolicy } from './retry.ts'
export type { CallOptions, Requests, ServiceClient } from './service-client.ts'
