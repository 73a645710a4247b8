// Client-side load balancing over the current addresses of a service. A call that may have been sent is never sent again, except
// by a hedge.

import { isIP } from 'node:net'
import { DecoratorHandler, Dispatcher, errors, Pool } from 'undici'
import type { StreamedHandler } from '../call-stream/client.ts'
import { CallStreamPool } from '../call-stream/pool.ts'
import { type Addresses, type AddressOptions, watchAddresses } from './addresses.ts'
import {
  HedgeBudget,
  type HedgingDispatcher,
  hedgeCounts,
  OtherAnswered,
  type SentCall,
} from './hedging.ts'

/** Returns the options of new connections, such as certificates. It returns another object when they have changed. */
export type ConnectBy = () => Pool.Options['connect']

/** Options of a dispatcher. */
export interface DispatcherOptions extends AddressOptions {
  connectBy?: ConnectBy
  /** Maximum bytes of a response; -1 for endless streams. */
  maxResponseSize?: number
}

const connectTimeoutMs = 2_000
const maxStreamedAnswerBytes = 4 * 1024 * 1024
const defaultConnect = { timeout: connectTimeoutMs }
const connectByDefault: ConnectBy = () => defaultConnect

/**
 * Time for which an idle connection is kept. Shorter than the drain of a stopping server (DRAIN_S): it closes idle connections
 * after that, when this client has none, so no call is sent on a connection that is being closed.
 */
const idleMs = 1_500

/** How long an instance that drains gets no calls; after that it has ended or serves again. */
const drainingMs = 5_000
const minAvoidMs = 250
const maxAvoidMs = 5_000
/** Consecutive calls without a response after which the instance counts as unreachable. */
const unansweredLimit = 8

/**
 * Makes the dispatcher of a service by its URL, or by several with commas between. A name stands for all of its
 * addresses, looked up again and again; of two instances picked at random, the one with fewer calls in flight gets the
 * call. A call whose connection was refused goes to another instance; one that was sent never does, except by the
 * hedges of `hedgingOf`. Throws a TypeError for a bad URL.
 */
export function createDispatcher(url: string, options: DispatcherOptions = {}): Dispatcher {
  const origins = url.split(',').map((one) => new URL(one))
  const [first] = origins
  if (first === undefined) throw new Error('a service needs an address')
  const isOne = origins.length === 1 && isIP(first.hostname.replace(/^\[|\]$/g, '')) !== 0
  // A single fixed address needs no balancer.
  if (isOne && options.connectBy === undefined)
    return openPool(first.origin, connectByDefault, options)
  return new Balancer(origins, options)
}

/** The dispatcher as one that can hedge read-only calls; undefined for a service at one address that cannot change. */
export function hedgingOf(dispatcher: Dispatcher): HedgingDispatcher | undefined {
  return dispatcher instanceof Balancer ? dispatcher : undefined
}

function openPool(origin: string, connectBy: ConnectBy, options: DispatcherOptions): Dispatcher {
  const connect = connectBy()
  const pool = new Pool(origin, {
    connections: 256,
    pipelining: 1,
    connect,
    headersTimeout: 65_000,
    bodyTimeout: 65_000,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    maxResponseSize: options.maxResponseSize ?? -1,
  })
  return new CallStreamPool(origin, pool, { connect, maxBytes: maxStreamedAnswerBytes })
}

/** One address of the service. */
interface Instance {
  readonly pool: Dispatcher
  inFlight: number
  /** Calls in a row that did not connect. */
  refused: number
  /** Calls in a row that were sent and not answered. */
  unanswered: number
  /** Until this time it is used only when no other instance is left. */
  avoidUntilMs: number
}

class Balancer extends Dispatcher implements HedgingDispatcher {
  readonly addresses: Addresses
  readonly #budget = new HedgeBudget()
  readonly #options: DispatcherOptions
  readonly #connectBy: ConnectBy
  readonly #protocol: string
  readonly #instances = new Map<string, Instance>()
  readonly #closing = new Set<Promise<void>>()
  #usable: Instance[] = []
  #connectOptions: unknown
  #closed = false

  constructor(origins: URL[], options: DispatcherOptions) {
    super()
    this.#options = options
    this.#connectBy = options.connectBy ?? connectByDefault
    this.#protocol = origins[0]?.protocol ?? 'http:'
    this.addresses = watchAddresses(origins, (found) => this.#update(found), options)
  }

  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    // undici's own methods pass handlers of the older form.
    const modern: Dispatcher.DispatchHandler =
      handler.onRequestStart === undefined ? new DecoratorHandler(handler) : handler
    new Attempt(this, options, modern).send()
    return true
  }

  dispatchReadOnly(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): SentCall {
    this.#budget.earn()
    const attempt = new Attempt(this, options, handler)
    attempt.send()
    return attempt
  }

  /** Sends a second copy of a call to which `first` has not responded. */
  hedge(
    first: Instance,
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    // This may be an instance that is being avoided, if there is no other.
    const other = this.pick([first])
    if (other === undefined) return false
    if (!this.#budget.spend()) {
      hedgeCounts.over_budget += 1
      return false
    }
    new Attempt(this, options, handler, [first]).sendTo(other)
    return true
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** An instance that is not among those tried. */
  pick(tried: readonly Instance[]): Instance | undefined {
    const addresses = this.addresses.current()
    if (addresses === undefined || this.#closed) return undefined
    if (this.#connectBy() !== this.#connectOptions && this.#connectOptions !== undefined)
      this.#replacePools(addresses)
    const nowMs = performance.now()
    const all = this.#usable
    const good = all.filter((one) => one.avoidUntilMs <= nowMs && !tried.includes(one))
    if (good.length > 0) return lessBusy(good)
    return all
      .filter((one) => !tried.includes(one))
      .reduce<Instance | undefined>((best, one) => {
        return best === undefined || one.avoidUntilMs < best.avoidUntilMs ? one : best
      }, undefined)
  }

  /**
   * Records a call that was not sent: the instance is avoided for a time that doubles, and the addresses are looked up
   * again.
   */
  refused(instance: Instance): void {
    const avoidMs = Math.min(minAvoidMs * 2 ** instance.refused, maxAvoidMs)
    instance.refused += 1
    instance.avoidUntilMs = performance.now() + avoidMs
    void this.addresses.refresh()
  }

  /** Records a call that was sent and not answered; after several in a row the instance is avoided. */
  unanswered(instance: Instance): void {
    instance.unanswered += 1
    if (instance.unanswered < unansweredLimit) return
    instance.unanswered = 0
    instance.avoidUntilMs = performance.now() + maxAvoidMs
    void this.addresses.refresh()
  }

  answered(instance: Instance, isDraining: boolean): void {
    instance.refused = 0
    instance.unanswered = 0
    if (!isDraining) return
    instance.avoidUntilMs = performance.now() + drainingMs
    void this.addresses.refresh()
  }

  #update(addresses: readonly string[]): void {
    const wanted = new Set(addresses)
    for (const address of this.#instances.keys()) if (!wanted.has(address)) this.#drop(address)
    this.#connectOptions = this.#connectBy()
    for (const address of wanted) {
      if (this.#instances.has(address) || this.#closed) continue
      this.#instances.set(address, {
        pool: openPool(`${this.#protocol}//${address}`, this.#connectBy, this.#options),
        inFlight: 0,
        refused: 0,
        unanswered: 0,
        avoidUntilMs: 0,
      })
    }
    this.#usable = [...this.#instances.values()]
  }

  /** Replaces all pools, after certificates have changed; calls in flight end on the old connections. */
  #replacePools(addresses: readonly string[]): void {
    this.#update([])
    this.#update(addresses)
  }

  #drop(address: string): void {
    const instance = this.#instances.get(address)
    if (instance === undefined) return
    this.#instances.delete(address)
    const closed = instance.pool.close().catch(() => undefined)
    this.#closing.add(closed)
    void closed.finally(() => this.#closing.delete(closed))
  }

  override close(): Promise<void>
  override close(callback: () => void): void
  override close(callback?: () => void): Promise<void> | undefined {
    this.#closed = true
    this.#update([])
    const closed = Promise.all(this.#closing).then(() => undefined)
    if (callback === undefined) return closed
    void closed.finally(callback)
    return undefined
  }
}

/** Picks the less busy of two random instances (power of two choices), so that not all callers pick the same idle one. */
function lessBusy(instances: readonly Instance[]): Instance | undefined {
  const { length } = instances
  const at = Math.floor(Math.random() * length)
  const one = instances[at]
  if (length === 1) return one
  const other = instances[(at + 1 + Math.floor(Math.random() * (length - 1))) % length]
  return one !== undefined && other !== undefined && other.inFlight < one.inFlight ? other : one
}

/** One call. It tries one instance after the other until it is sent. A class, because each call makes one. */
class Attempt implements StreamedHandler, SentCall {
  readonly #balancer: Balancer
  readonly #options: Dispatcher.DispatchOptions
  readonly #handler: StreamedHandler
  #instance: Instance | undefined
  readonly #tried: Instance[]
  readonly #isHedge: boolean
  #hasResolvedAgain = false
  #isSent = false
  #isAnswered = false

  constructor(
    balancer: Balancer,
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    tried: Instance[] = [],
  ) {
    this.#balancer = balancer
    this.#options = options
    this.#handler = handler
    this.#tried = tried
    this.#isHedge = tried.length > 0
  }

  send(last?: Error): void {
    const instance = this.#balancer.pick(this.#tried)
    if (instance === undefined) {
      void this.#resolveAgain(last)
      return
    }
    this.sendTo(instance)
  }

  sendTo(instance: Instance): void {
    this.#instance = instance
    instance.inFlight += 1
    instance.pool.dispatch(this.#options, this)
  }

  hedge(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const first = this.#instance
    return first !== undefined && this.#balancer.hedge(first, options, handler)
  }

  /** All instances were tried: resolves the addresses once more and tries new ones. */
  async #resolveAgain(last: Error | undefined): Promise<void> {
    const { addresses, isClosed } = this.#balancer
    if (!isClosed && !this.#hasResolvedAgain) {
      this.#hasResolvedAgain = true
      await addresses.refresh()
      this.send(last)
      return
    }
    const none = isClosed ? new errors.ClientClosedError() : new Error('no address')
    this.#handler.onResponseError?.(neverStarted, last ?? addresses.failure() ?? none)
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.#isSent = true
    this.#handler.onRequestStart?.(controller, context)
  }

  /** The instance did not begin the call, for example because it stops: another may get it. */
  onReturned(): void {
    this.#isSent = false
    this.#handler.onReturned?.()
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[]>,
    message?: string,
  ): void {
    this.#isAnswered = true
    // Only a response with 200 counts: a server may close the connection of a refused request without draining.
    const isDraining = status === 200 && headers['connection'] === 'close'
    if (this.#instance !== undefined) this.#balancer.answered(this.#instance, isDraining)
    this.#handler.onResponseStart?.(controller, status, headers, message)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#handler.onResponseData?.(controller, chunk)
  }

  onResponseEnd(
    controller: Dispatcher.DispatchController,
    trailers: Record<string, string | string[]>,
  ): void {
    this.#leave()
    this.#handler.onResponseEnd?.(controller, trailers)
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    const instance = this.#leave()
    if (this.#isSent || instance === undefined || error instanceof errors.InvalidArgumentError) {
      // A hedge that was cancelled because the first response came did not wait long enough to count against its instance.
      const hasWaited = !(this.#isHedge && error instanceof OtherAnswered)
      if (!this.#isAnswered && hasWaited && instance !== undefined) {
        this.#balancer.unanswered(instance)
      }
      this.#handler.onResponseError?.(controller, error)
      return
    }
    this.#balancer.refused(instance)
    this.#tried.push(instance)
    this.send(error)
  }

  #leave(): Instance | undefined {
    const instance = this.#instance
    this.#instance = undefined
    if (instance !== undefined) instance.inFlight -= 1
    return instance
  }
}

/** Controller of a request that was never started. */
const neverStarted: Dispatcher.DispatchController = {
  aborted: true,
  paused: false,
  reason: null,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
}
