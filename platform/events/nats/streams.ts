// Makes the stream and its consumers at the broker and corrects their settings. It does not import the client library:
// nats.ts passes its manager in.

/** Settings as the broker returns them. It adds some of its own, which are not compared. */
export type Settings = Record<string, unknown>

/** What this file needs of the library's manager of streams and consumers. */
export interface Manager {
  streams: {
    info(name: string): Promise<{ config: object }>
    add(settings: never): Promise<unknown>
    update(name: string, settings: never): Promise<unknown>
  }
  consumers: {
    info(stream: string, durable: string): Promise<{ config: object }>
    add(stream: string, settings: never): Promise<unknown>
    update(stream: string, durable: string, settings: never): Promise<unknown>
  }
}

/** Names of the stream and of consumers that were missing, and of those that had other settings. */
export type Changed = { made: string[]; corrected: string[] }

/** The broker's answer when there is no such stream or consumer. */
const notFound = '404'

/**
 * Creates missing streams and consumers and corrects their settings. Reads first: even creating one that exists is a decision
 * that all servers of a cluster have to store. Rejects with the library's error, for example when the user may not do
 * this.
 */
export async function ensure(
  { streams, consumers }: Manager,
  stream: Settings & { name: string },
  durables: (Settings & { durable_name: string })[],
): Promise<Changed> {
  const changed: Changed = { made: [], corrected: [] }
  const { name } = stream
  await ensureOne(name, changed, stream, {
    info: () => streams.info(name),
    add: () => streams.add(stream as never),
    update: () => streams.update(name, stream as never),
  })
  for (const durable of durables) {
    const { durable_name: own } = durable
    await ensureOne(own, changed, durable, {
      info: () => consumers.info(name, own),
      add: () => consumers.add(name, durable as never),
      update: () => consumers.update(name, own, durable as never),
    })
  }
  return changed
}

type Calls = {
  info(): Promise<{ config: object }>
  add(): Promise<unknown>
  update(): Promise<unknown>
}

async function ensureOne(
  name: string,
  { made, corrected }: Changed,
  wanted: Settings,
  { info, add, update }: Calls,
): Promise<void> {
  const found = await info().catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== notFound) throw error
    return undefined
  })
  if (found === undefined) {
    await add()
    made.push(name)
  } else if (!has(found.config as Settings, wanted)) {
    await update()
    corrected.push(name)
  }
}

function has(config: Settings, wanted: Settings): boolean {
  return Object.entries(wanted).every(
    ([key, value]) => JSON.stringify(config[key]) === JSON.stringify(value),
  )
}
