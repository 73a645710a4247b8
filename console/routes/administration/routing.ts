// Which connector takes which charges and payouts: the routes with their file, forms that change them, and who did.
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { FastifyInstance } from 'fastify'
import { PaymentChannel, PaymentMethod } from '#gen/payweave/payments/v1/payments_pb.js'
import {
  type ListRoutesResponse,
  type Route,
  type RouteChange,
  type RouteKey,
  type RouteKeySchema,
  RouteKind,
} from '#gen/payweave/payments/v1/routes_pb.js'
import type { Clients } from '../../clients.ts'
import { asFile, type Work, type Worker } from '../../http/work.ts'
import {
  type Cell,
  chosenWord,
  code,
  type Field,
  type Form,
  noticeOf,
  type Section,
  text,
} from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { choices, timeOf, valueOf, wordOf } from '../../pages/words.ts'
import type { NameOf } from '../../sign-in/people.ts'
import { firstRows, idIn, noneMatches, oneOf, sendCsv, withFilters } from '../list.ts'

const path = '/routing'
const kinds = ['charge', 'payout'] as const
/** Most rows of routes have a form. The file has all. */
const pageSize = 23

/** Registers `/routing`, its file and its forms. */
export function registerRouting(
  app: FastifyInstance,
  { worker, clients: { routing } }: { worker: Worker; clients: Clients },
): void {
  app.get(
    path,
    worker.page((work) => show(work, routing)),
  )
  app.get(
    `${path}.csv`,
    worker.page(
      (work) =>
        sendCsv(work, 'routes', csvHead, async () => {
          const { routes } = await wantedRoutes(work, routing)
          return { rows: routes.map(csvCells), nextPageToken: '' }
        }),
      asFile,
    ),
  )
  app.get(
    `${path}/changes.csv`,
    worker.page(
      (work) =>
        sendCsv(work, 'route-changes', changesHead, async () => {
          const changes = await wantedChanges(work, routing)
          return { rows: changes.map(changeCells), nextPageToken: '' }
        }),
      asFile,
    ),
  )
  app.post(
    `${path}/routes`,
    worker.page(async ({ reply, form }) => {
      await routing.putRoute({
        key: keyOf(form),
        connector: form.get('connector') ?? '',
        fallbackConnector: form.get('fallback') ?? '',
      })
      return reply.redirect(`${path}?notice=stored`, 303)
    }),
  )
  app.post(
    `${path}/removals`,
    worker.page(async ({ reply, form }) => {
      await routing.deleteRoute({ key: keyOf(form) })
      return reply.redirect(`${path}?notice=stored`, 303)
    }),
  )
}

/** Whether a route is of the kind and for the project that the query asks for. Throws INVALID_PARAMETER for another text. */
function isWantedIn({ query }: Work): (route: { key?: RouteKey }) => boolean {
  const kind: RouteKind | undefined = valueOf(RouteKind, oneOf(query, 'kind', kinds) ?? null)
  const projectId = idIn(query, 'project')
  return ({ key }) =>
    (kind === undefined || key?.kind === kind) && (projectId === '' || key?.projectId === projectId)
}

async function wantedRoutes(work: Work, routing: Clients['routing']) {
  const isWanted = isWantedIn(work)
  const listed = await routing.listRoutes({})
  return { ...listed, routes: listed.routes.filter(isWanted) }
}

async function wantedChanges(work: Work, routing: Clients['routing']) {
  const isWanted = isWantedIn(work)
  return (await routing.listRouteChanges({})).changes.filter(isWanted)
}

function filterSection({ request, query }: Work): Section {
  const link = (label: string, file: string) => ({ label, href: withFilters(file, request.url) })
  return {
    filters: {
      fields: [
        chosenWord('For', 'kind', kinds, query),
        { label: 'Project id', name: 'project', value: query.get('project') ?? '', maxlength: 36 },
      ],
      links: [
        link('CSV of the routes', `${path}.csv`),
        link('CSV of the changes', `${path}/changes.csv`),
      ],
    },
  }
}

async function show(work: Work, routing: Clients['routing']) {
  const { reply, query, may, namesOf } = work
  const [listed, changes] = await Promise.all([
    wantedRoutes(work, routing),
    wantedChanges(work, routing),
  ])
  const isFiltered = query.has('kind') || query.has('project')
  const mayPut = may('payweave.payments.v1.RoutingService/PutRoute')
  const mayDelete = may('payweave.payments.v1.RoutingService/DeleteRoute')
  const nameOf = await namesOf([
    ...listed.routes.map(({ changedBy }) => changedBy),
    ...changes.map(({ caller }) => caller),
  ])
  const routes = routesSection(listed, { mayDelete, isFiltered }, nameOf)
  return sendSections(reply, {
    title: 'Routing',
    notice: noticeOf(query, { stored: 'Stored. It counts within a second.' }),
    sections: [
      filterSection(work),
      mayPut ? { ...routes, forms: [routeForm(listed)] } : routes,
      changesSection(changes, isFiltered, nameOf),
    ],
  })
}

function routesSection(
  { routes, defaultConnector }: Pick<ListRoutesResponse, 'routes' | 'defaultConnector'>,
  { mayDelete, isFiltered }: { mayDelete: boolean; isFiltered: boolean },
  nameOf: NameOf,
): Section {
  const { rows, cut } = firstRows(routes, pageSize)
  return {
    heading: 'Routes',
    note: `The first route that fits a charge or a payout takes it, and ${defaultConnector} takes what none fits. A fallback is called only when the connector certainly received nothing.${cut}`,
    table: {
      head: [...keyHead, 'Connector', 'Fallback', 'Changed', 'By', 'Remove'],
      empty: isFiltered
        ? noneMatches('route')
        : `No route yet: ${defaultConnector} takes everything.`,
      rows: rows.map((route) => [
        ...keyCells(route.key),
        code(route.connector),
        code(route.fallbackConnector),
        { at: route.updateTime },
        text(nameOf(route.changedBy)),
        mayDelete ? { forms: [removeForm(route)] } : text('operators remove'),
      ]),
    },
    rpc: [
      'payweave.payments.v1.RoutingService/ListRoutes',
      'payweave.payments.v1.RoutingService/PutRoute',
      'payweave.payments.v1.RoutingService/DeleteRoute',
    ],
    commands: ['routes list', 'routes set', 'routes remove'],
  }
}

function changesSection(changes: RouteChange[], isFiltered: boolean, nameOf: NameOf): Section {
  const { rows, cut } = firstRows(changes, pageSize)
  return {
    heading: 'Changes',
    note: cut,
    table: {
      head: ['When', 'Who', ...keyHead, 'Connector', 'Fallback', 'Request'],
      empty: isFiltered
        ? noneMatches('change')
        : 'No change yet. Store the first route with: payweave routes set',
      rows: rows.map((one) => [
        { at: one.changeTime },
        text(nameOf(one.caller)),
        ...keyCells(one.key),
        one.connector === '' ? text('removed') : code(one.connector),
        code(one.fallbackConnector),
        code(one.requestId),
      ]),
    },
    rpc: 'payweave.payments.v1.RoutingService/ListRouteChanges',
    commands: ['routes changes'],
  }
}

const keyHead = ['For', 'Project', 'Currency', 'Channel', 'Method']

function keyCells(key: RouteKey | undefined): Cell[] {
  if (key === undefined) return keyHead.map(() => text(''))
  const { kind, projectId, currency, channel, method } = key
  return [
    text(`${wordOf(RouteKind, kind)}s`),
    projectId === '' ? text('any') : code(projectId, `/projects/${projectId}`),
    text(currency || 'any'),
    text(channel === PaymentChannel.UNSPECIFIED ? 'any' : wordOf(PaymentChannel, channel)),
    text(method === PaymentMethod.UNSPECIFIED ? 'any' : wordOf(PaymentMethod, method)),
  ]
}

const csvHead = [
  'kind',
  'project_id',
  'currency',
  'channel',
  'method',
  'connector',
  'fallback',
  'changed',
  'changed_by',
]

/** A part of the key that takes any is empty. */
function keyTexts(key: RouteKey | undefined): string[] {
  const { kind = 0, projectId = '', currency = '', channel = 0, method = 0 } = key ?? {}
  return [
    wordIn(RouteKind, kind),
    projectId,
    currency,
    wordIn(PaymentChannel, channel),
    wordIn(PaymentMethod, method),
  ]
}

const changesHead = ['changed', 'changed_by', ...csvHead.slice(0, 7), 'request_id']

/** A route that was removed has no connector any more. */
function changeCells(one: RouteChange): string[] {
  const time = timeOf(one.changeTime)?.iso ?? ''
  const route = [...keyTexts(one.key), one.connector, one.fallbackConnector]
  return [time, one.caller, ...route, one.requestId]
}

function csvCells({ key, connector, fallbackConnector, updateTime, changedBy }: Route): string[] {
  return [...keyTexts(key), connector, fallbackConnector, timeOf(updateTime)?.iso ?? '', changedBy]
}

function removeForm({ key }: Route): Form {
  const { kind = 0, projectId = '', currency = '', channel = 0, method = 0 } = key ?? {}
  return {
    action: `${path}/removals`,
    button: 'Remove',
    rpc: 'payweave.payments.v1.RoutingService/DeleteRoute',
    isDangerous: true,
    hidden: {
      kind: wordIn(RouteKind, kind),
      project_id: projectId,
      currency,
      channel: wordIn(PaymentChannel, channel),
      method: wordIn(PaymentMethod, method),
    },
  }
}

function routeForm({ connectors }: Pick<ListRoutesResponse, 'connectors'>): Form {
  const names = connectors.map((name) => ({ value: name, label: name }))
  return {
    action: `${path}/routes`,
    button: 'Store the route',
    rpc: 'payweave.payments.v1.RoutingService/PutRoute',
    fields: [
      select('For', 'kind', [
        { value: 'charge', label: 'charges' },
        { value: 'payout', label: 'payouts' },
      ]),
      { label: 'Project id, or any', name: 'project_id', maxlength: 36 },
      { label: 'Currency, or any', name: 'currency', maxlength: 3 },
      select('Channel', 'channel', [any, ...choices(PaymentChannel)]),
      select('Method', 'method', [any, ...choices(PaymentMethod)]),
      select('Connector', 'connector', names),
      select('Fallback', 'fallback', [{ value: '', label: 'none' }, ...names]),
    ],
  }
}

type Option = { value: string; label: string }

const any: Option = { value: '', label: 'any' }

function select(label: string, name: string, options: Option[]): Field {
  return { label, name, type: 'select', options }
}

/** The word of a value in a form; empty for UNSPECIFIED. */
function wordIn(names: Readonly<Record<number, string>>, value: number): string {
  return value === 0 ? '' : (names[value] ?? '').toLowerCase()
}

function keyOf(form: URLSearchParams): MessageInitShape<typeof RouteKeySchema> {
  return {
    kind: valueOf(RouteKind, form.get('kind')) ?? RouteKind.UNSPECIFIED,
    projectId: form.get('project_id') ?? '',
    currency: form.get('currency') ?? '',
    channel: valueOf(PaymentChannel, form.get('channel')) ?? PaymentChannel.UNSPECIFIED,
    method: valueOf(PaymentMethod, form.get('method')) ?? PaymentMethod.UNSPECIFIED,
  }
}
