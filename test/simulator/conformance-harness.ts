// A simulator whose calls and reports pass a proxy, in which a test plants a defect, on their way from and to the conformance kit.
import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DescService, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import type { GenService, GenServiceMethods } from '@bufbuild/protobuf/codegenv2'
import type { ConnectRouter, ServiceImpl } from '@connectrpc/connect'
import { ReviewReportService } from '#gen/payweave/accounts/v1/review_report_pb.js'
import { BillerService } from '#gen/payweave/backend/v1/billers_pb.js'
import { ChargeService } from '#gen/payweave/backend/v1/charges_pb.js'
import { PayoutService } from '#gen/payweave/backend/v1/payouts_pb.js'
import { RateService } from '#gen/payweave/backend/v1/rates_pb.js'
import { ReviewService } from '#gen/payweave/backend/v1/reviews_pb.js'
import { TransferService } from '#gen/payweave/backend/v1/transfers_pb.js'
import { TransferReportService } from '#gen/payweave/institution/v1/transfer_report_pb.js'
import { ChargeReportService } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { migrationFolders } from '#platform/db/schemas.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { createRpcClient, createRpcPool, type RpcPool } from '#platform/rpc/client/client.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import { peersOf } from '../../connectors/simulator/ports/peers.ts'
import { startSimulator } from '../../connectors/simulator/simulator.ts'
import { createTestDatabase, silentLog } from '../support/database.ts'
import { serveHttp } from '../support/http-server.ts'
import { freePorts } from '../support/servers.ts'

const host = '127.0.0.1'
export const pagesOrigin = 'http://pay.test:8080'

/** Handlers of some methods of a service, in place of those that they may forward to. */
type HandlersOf<S extends GenService<GenServiceMethods>> = {
  [M in keyof S['method']]?: (
    request: MessageShape<S['method'][M]['input']>,
    forward: (
      request: MessageInitShape<S['method'][M]['input']>,
    ) => Promise<MessageShape<S['method'][M]['output']>>,
  ) => Promise<MessageInitShape<S['method'][M]['output']>>
}

/** What the proxy does otherwise than forward, by the local name of the method. */
export type Defect = Readonly<
  HandlersOf<typeof ChargeService> &
    HandlersOf<typeof PayoutService> &
    HandlersOf<typeof ReviewService> &
    HandlersOf<typeof TransferService> &
    HandlersOf<typeof BillerService> &
    HandlersOf<typeof RateService> &
    HandlersOf<typeof ChargeReportService> &
    HandlersOf<typeof ReviewReportService>
>

type Forward = (request: object) => Promise<unknown>
type Methods = Record<string, Forward>

/** A simulator behind a proxy; the secrets of both sides must stand in `secrets`. */
export async function startProxiedSimulator(secrets: string) {
  const identityOf = (name: string) =>
    openIdentity({ name, dir: join(secrets, name), log: silentLog })
  const [port = 0, publicPort = 0, proxyPort = 0, ...more] = await freePorts(9)
  const [payments = 0, accounts = 0, institution = 0, ...outer] = more
  const [paymentsPort = 0, accountsPort = 0, institutionPort = 0] = outer
  const ports = { payments: paymentsPort, accounts: accountsPort, institution: institutionPort }
  const urlOf = (at: number) => `http://${host}:${at}`
  const database = await createTestDatabase('simulator', migrationFolders('simulator'))
  const pools: RpcPool[] = []
  const clientOf = <S extends DescService>(
    service: S,
    caller: string,
    audience: string,
    at: number,
  ) => {
    const pool = createRpcPool(urlOf(at), { lasting: true })
    pools.push(pool)
    const identity = identityOf(caller)
    return createRpcClient(service, { url: urlOf(at), audience, identity, pool })
  }

  let defect: Defect = {}
  const handlerOf = (name: string) =>
    (defect as Record<string, (request: object, forward: Forward) => Promise<unknown>>)[name]
  const relay = (router: ConnectRouter, service: DescService, client: object) => {
    const methods = client as Methods
    const handlers = service.methods.map((method) => {
      const name = method.localName
      const forward = (request: object) =>
        methods[name]?.(request) ?? Promise.reject(new Error(name))
      const unary = (request: object) => handlerOf(name)?.(request, forward) ?? forward(request)
      const streaming = (request: object) => methods[name]?.(request)
      return [name, method.methodKind === 'unary' ? unary : streaming] as const
    })
    router.service(service, Object.fromEntries(handlers) as ServiceImpl<DescService>)
  }
  const serve = (name: string, at: number, clients: Array<[DescService, object]>) =>
    serveRpc({
      host,
      port: at,
      identity: identityOf(name),
      log: silentLog,
      graceMs: 100,
      routes: (router) => {
        for (const [service, client] of clients) relay(router, service, client)
      },
    })
  const toSimulator = (service: DescService, caller: string): [DescService, object] => [
    service,
    clientOf(service, caller, 'simulator', port),
  ]
  const toKit = (service: DescService, audience: keyof typeof ports): [DescService, object] => [
    service,
    clientOf(service, 'simulator', audience, ports[audience]),
  ]
  const servers = await Promise.all([
    serve('simulator', proxyPort, [
      toSimulator(ChargeService, 'payments'),
      toSimulator(PayoutService, 'payments'),
      toSimulator(ReviewService, 'accounts'),
      toSimulator(TransferService, 'institution'),
      toSimulator(BillerService, 'billing'),
      toSimulator(RateService, 'quotes'),
    ]),
    serve('payments', payments, [toKit(ChargeReportService, 'payments')]),
    serve('accounts', accounts, [toKit(ReviewReportService, 'accounts')]),
    serve('institution', institution, [toKit(TransferReportService, 'institution')]),
  ])
  const simulator = await startSimulator({
    db: database.open(),
    log: silentLog,
    identity: identityOf('simulator'),
    environment: 'local',
    host,
    port,
    publicPort,
    publicUrl: urlOf(publicPort),
    checkoutUrl: pagesOrigin,
    peers: peersOf({
      payments: clientOf(ChargeReportService, 'simulator', 'payments', payments),
      accounts: clientOf(ReviewReportService, 'simulator', 'accounts', accounts),
      institution: clientOf(TransferReportService, 'simulator', 'institution', institution),
    }),
  })
  const aliases = new Map<string, string>()
  const showExecutions = async (request: IncomingMessage, response: ServerResponse) => {
    const shown = new URL(request.url ?? '', urlOf(publicPort))
    const other = aliases.get(shown.searchParams.get('id') ?? '')
    if (other !== undefined) shown.searchParams.append('id', other)
    const answer = await fetch(shown)
    response.writeHead(answer.status).end(await answer.text())
  }
  const executions = await serveHttp((request, response) => void showExecutions(request, response))
  return {
    /** Of the simulator itself. */
    url: urlOf(port),
    proxyUrl: urlOf(proxyPort),
    executionsUrl: `${executions.baseUrl}/executions?kind={kind}&id={id}`,
    /** From now on the executions of an id have those of the other one too: the provider has both of one reference. */
    alsoExecutedAs: (id: string, other: string) => void aliases.set(id, other),
    ports,
    /** From now on the proxy has this defect and no other. */
    plant(planted: Defect) {
      defect = planted
    },
    async stop() {
      executions.close()
      await simulator.close()
      await Promise.all(servers.map((server) => server.close()))
      await Promise.all(pools.map((pool) => pool.close()))
      await database.drop()
    },
  }
}

/** A folder for secrets and reports, which `remove` deletes. */
export function temporaryFolder() {
  const path = mkdtempSync(join(tmpdir(), 'payweave-conformance-'))
  return { path, remove: () => rmSync(path, { recursive: true }) }
}
