// What the good requests of the sweep are made of, and the form of their table.
import type { DescService, Message, MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'

/** Ids and credentials of the running system. */
export type Facts = {
  projectId: string
  merchantId: string
  institutionId: string
  accountId: string
  subscriptionKey: string
  apiKey: string
  sessionToken: string
}

/** Makes good requests by `pkg.Service/Method`; together those of one method set every field. */
export type Requests = Record<string, () => Message[]>

type Inputs<S extends DescService> = {
  [M in keyof S['method']]: MessageInitShape<S['method'][M]['input']>[]
}

/** The table of one service: a method that has no requests is an error of types. */
export function requestsFor<S extends DescService>(service: S, inputs: Inputs<S>): Requests {
  const methods = Object.entries(inputs) as [string, unknown[]][]
  return Object.fromEntries(
    methods.map(([localName, requests]) => {
      const method = service.method[localName]
      if (method === undefined) throw new Error(`${service.typeName} has no ${localName}`)
      const make = (init: unknown) => create(method.input, init as Record<string, unknown>)
      return [`${service.typeName}/${method.name}`, () => requests.map(make)]
    }),
  )
}

/** A time to come. */
export function inAnHour() {
  return timestampFromDate(new Date(Date.now() + 3_600_000))
}
