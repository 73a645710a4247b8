// The form of a request that the edge accepts, and the keys of its refusals; no route here.

/** Keys that an error body of a group has, beside `missing`. */
export const errorKeys = {
  full: [
    'code',
    'doc_url',
    'errorCode',
    'message',
    'observed_client_ip',
    'request_id',
    'status',
    'timestamp',
  ],
  withoutIp: ['code', 'doc_url', 'errorCode', 'message', 'request_id', 'status', 'timestamp'],
  quote: ['code', 'message', 'status'],
  bill: ['code', 'doc_url', 'errorCode', 'message', 'status', 'timestamp'],
} as const

/** A request that the edge accepts. */
export type GoodRequest = {
  method: 'GET' | 'POST'
  path: string
  version: string
  errors: keyof typeof errorKeys
  query: Record<string, string>
  /** Query parameters that must be there beside `version`, in the contract's order. */
  required: string[]
  body?: Record<string, unknown>
  /** Paths of required body fields in the contract's order. */
  fields?: string[]
  headers?: Record<string, string>
  credential: 'api_key' | 'session' | 'none'
  grant?: boolean
  account?: boolean
}
