// The broker of the simulation: one stream with its durable consumers, which keeps, repeats and loses messages as JetStream may.
import { Failure } from '#core/errors/errors.ts'
import type { Batches, ReceivedMessage } from '#platform/events/nats/batches.ts'
import type { Nats } from '#platform/events/nats/nats.ts'
import { consumedSubjects, durablesOf } from '#platform/events/topology.ts'
import type { Process, Scheduler } from './engine/scheduler.ts'
import type { Network } from './network.ts'

type Message = {
  subject: string
  payload: Uint8Array
  messageId: string
  storedMs: number
}

/** A message on its way through a durable consumer. */
type Pending = { message: Message; deliveries: number; isDone: boolean }

type Durable = { name: string; subject: string; waiting: Pending[] }

/** A consumer that a process has open. */
type Subscription = {
  durable: string
  process: Process
  arrived: ReceivedMessage[]
  isOpen: boolean
  /** When the latest message arrives: one connection keeps their order. */
  latestMs: number
  resume: (() => void) | undefined
}

export type Broker = {
  /** The broker as a process sees it. */
  connect(process: Process): Nats
  /** Takes no connections until `start`; `loses`: all that it has stored as well. */
  stop(loses: boolean): void
  start(): void
  isUp(): boolean
}

const publishTimeoutMs = 2_500
const ackWaitMs = 30_000
const deduplicatesMs = 120_000
/** The stream controller makes a lost stream again within this time. */
const restoredMs = 1_000

const unavailable = (): Failure => new Failure('SERVICE_UNAVAILABLE', 'the broker does not answer')

type State = {
  scheduler: Scheduler
  network: Network
  onStored: () => void
  durables: Durable[]
  /** By message id. */
  messages: Map<string, Message>
  subscriptions: Set<Subscription>
  listeners: Map<Process, Set<() => void>>
  isUp: boolean
  hasStream: boolean
}

/** A broker without messages. `onStored` is called when it has stored one. */
export function createBroker(scheduler: Scheduler, network: Network, onStored: () => void): Broker {
  const state: State = {
    scheduler,
    network,
    onStored,
    durables: durablesOf(consumedSubjects).map(({ durable, subject }) => {
      return { name: durable, subject, waiting: [] }
    }),
    messages: new Map(),
    subscriptions: new Set(),
    listeners: new Map(),
    isUp: true,
    hasStream: true,
  }
  return {
    connect: (process) => connect(state, process),
    isUp: () => state.isUp,
    stop(loses) {
      state.isUp = false
      for (const one of state.subscriptions) close(scheduler, one)
      state.subscriptions.clear()
      if (!loses) return
      state.hasStream = false
      state.messages.clear()
      for (const durable of state.durables) durable.waiting = []
    },
    start() {
      state.isUp = true
      scheduler.after(restoredMs, () => {
        state.hasStream = true
      })
      for (const [process, own] of state.listeners) {
        const notify = () => {
          for (const listener of own) listener()
        }
        scheduler.after(network.delayMs('broker'), notify, process)
      }
    },
  }
}

function connect(state: State, process: Process): Nats {
  const own = new Set<() => void>()
  state.listeners.set(process, own)
  return {
    ready: () => state.isUp,
    onConnected(listener) {
      own.add(listener)
      if (state.isUp) listener()
      return () => own.delete(listener)
    },
    // Announcements only inform people who watch, and caches: none is needed here.
    subscribe: () => () => undefined,
    announce: () => undefined,
    close: async () => undefined,
    ensureStream: () => Promise.reject(unavailable()),
    checkStream: async () => undefined,
    publish: (subject, payload, messageId) =>
      publish(state, process, { subject, payload, messageId }),
    async openDurable({ durable }) {
      if (!state.isUp || !state.hasStream) throw unavailable()
      return open(state, process, durable)
    },
  }
}

function publish(
  state: State,
  process: Process,
  message: Omit<Message, 'storedMs'>,
): Promise<void> {
  const { scheduler, network } = state
  return new Promise((resolve, reject) => {
    const cancel = scheduler.after(publishTimeoutMs, () => reject(unavailable()), process)
    const acknowledge = (): void => {
      cancel()
      resolve()
    }
    if (network.isLost('message')) return
    scheduler.after(network.delayMs('broker'), () => {
      if (!state.isUp || !state.hasStream) return
      store(state, { ...message, storedMs: scheduler.nowMs() })
      state.onStored()
      if (network.isLost('message')) return
      scheduler.after(network.delayMs('broker'), acknowledge, process)
    })
  })
}

function store(state: State, message: Message): void {
  const { scheduler, messages } = state
  const known = messages.get(message.messageId)
  if (known !== undefined && scheduler.nowMs() - known.storedMs < deduplicatesMs) return
  messages.set(message.messageId, message)
  for (const durable of state.durables) {
    if (!fits(durable.subject, message.subject)) continue
    durable.waiting.push({ message, deliveries: 0, isDone: false })
    scheduler.after(0, () => deliver(state, durable))
  }
}

function open(state: State, process: Process, durable: string): Batches {
  const subscription: Subscription = {
    durable,
    process,
    arrived: [],
    isOpen: true,
    latestMs: 0,
    resume: undefined,
  }
  state.subscriptions.add(subscription)
  for (const one of state.durables) {
    if (one.name === durable) state.scheduler.after(0, () => deliver(state, one))
  }
  return batchesOf(subscription)
}

/** Sends what waits to processes that have the consumer open. */
function deliver(state: State, durable: Durable): void {
  const open = [...state.subscriptions].filter(
    (one) => one.durable === durable.name && one.isOpen && one.process.isAlive,
  )
  if (!state.isUp || open.length === 0) return
  for (const pending of durable.waiting.splice(0)) {
    send(state, durable, pending, state.scheduler.random.pick(open))
  }
}

function send(state: State, durable: Durable, pending: Pending, to: Subscription): void {
  const { scheduler, network } = state
  pending.deliveries += 1
  const { deliveries } = pending
  const again = (afterMs: number): void => {
    scheduler.after(afterMs, () => {
      if (pending.isDone || pending.deliveries !== deliveries) return
      durable.waiting.push(pending)
      deliver(state, durable)
    })
  }
  again(ackWaitMs)
  const atMs = Math.max(to.latestMs, scheduler.nowMs() + network.delayMs('broker'))
  to.latestMs = atMs
  const arrive = (): void => {
    if (!to.isOpen) return
    to.arrived.push(received(state, pending, again))
    to.resume?.()
  }
  if (!network.isLost('message')) scheduler.after(atMs - scheduler.nowMs(), arrive, to.process)
}

function received(
  { scheduler, network }: State,
  pending: Pending,
  again: (afterMs: number) => void,
): ReceivedMessage {
  const reply = (work: () => void): void => {
    if (!network.isLost('message')) scheduler.after(network.delayMs('broker'), work)
  }
  const done = (): void => {
    pending.isDone = true
  }
  const { subject, payload, messageId } = pending.message
  return {
    subject,
    payload,
    messageId,
    deliveries: pending.deliveries,
    ack: () => reply(done),
    retry: (delayMs) => reply(() => again(delayMs)),
    refuse: () => reply(done),
  }
}

function fits(pattern: string, subject: string): boolean {
  return pattern.endsWith('.*')
    ? subject.startsWith(pattern.slice(0, -1)) && !subject.slice(pattern.length - 1).includes('.')
    : pattern === subject
}

/** The consumer is lost: the process reads so when it runs next. */
function close(scheduler: Scheduler, subscription: Subscription): void {
  subscription.isOpen = false
  scheduler.after(0, () => subscription.resume?.(), subscription.process)
}

function batchesOf(subscription: Subscription): Batches {
  return {
    async next(max) {
      while (subscription.arrived.length === 0) {
        if (!subscription.isOpen) return undefined
        await new Promise<void>((resolve) => {
          subscription.resume = resolve
        })
      }
      return subscription.arrived.splice(0, max)
    },
    stop() {
      subscription.isOpen = false
      subscription.resume?.()
    },
  }
}
